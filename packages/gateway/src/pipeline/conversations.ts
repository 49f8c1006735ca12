// What the gateway keeps of calls that go on later: conversations with an agent, and calls that wait
// for an answer. An id is the sealed entry itself, so that it is good after a restart, and on other
// gateways with the same key; only its owner can use it. An attempt that waits inside this process
// is named by its id, and is gone when the process is.

import { randomBytes, randomUUID } from 'node:crypto';
import {
  type AgentHandle,
  type Clock,
  type Envelope,
  FabricError,
  type GivenInput,
  type InputRequest,
  type InputResponse,
  type Log,
} from '@starloom/core';
import type { RealmStore } from '@starloom/identity';
import { Seal } from '@starloom/wire';
import { SchemaProblem, type SchemaValidators } from '@starloom/wire/foreign-schema';
import { failure } from '../reasons.ts';

interface Conversation {
  readonly principalId: string;
  readonly agentId: string;
  /** Of the instance that it lives at; absent in ids of earlier versions. */
  readonly nodeId?: string | undefined;
  readonly capability: string;
  readonly handle?: AgentHandle | undefined;
  /** What the call was given, for a caller that does not send it again. */
  readonly input?: Envelope['input'] | undefined;
  /** What the agent asked and waits for. */
  readonly questions: readonly OpenQuestion[];
}

type OpenQuestion = Pick<InputRequest, 'id' | 'kind' | 'schema' | 'options'>;

interface Sealed extends Conversation {
  readonly nonce: string;
  readonly expiresAt: number;
  /** Of the process in which the attempt waits. */
  readonly parkedIn?: string | undefined;
  /** Of the gateway whose process it is; absent in ids of earlier versions. */
  readonly parkedAt?: string | undefined;
}

export interface Reopened extends Conversation {
  readonly nonce: string;
  readonly isParked: boolean;
  readonly responses: InputResponse[] | undefined;
}

interface ConversationsOptions {
  readonly clock: Clock;
  /** 32 bytes; gateways that share it take up each other's conversations. */
  readonly key?: Buffer | undefined;
  /** Names this gateway among those with the same key; the same after a restart. */
  readonly gatewayId?: string | undefined;
  /** Where all gateways with the same key note the answers that were used. */
  readonly answered?: Pick<RealmStore, 'commit'> | undefined;
  readonly log?: Log | undefined;
  readonly validators: SchemaValidators;
}

const CONVERSATION_MS = 24 * 3_600_000;
/** Larger than any ordinary handle with its input; ids travel in every request. */
const MAX_ID_LENGTH = 512 * 1024;
const MAX_USED = 100_000;
const VERSION = 'c1';

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #clock: Clock;
  readonly #sealing: Seal;
  readonly #validators: SchemaValidators;
  readonly #process = randomUUID();
  /** Answers that were used, until they would have expired. */
  readonly #used = new Map<string, number>();

  constructor(options: ConversationsOptions) {
    const { clock, key = randomBytes(32), validators } = options;
    this.#options = options;
    this.#validators = validators;
    this.#clock = clock;
    this.#sealing = new Seal(key);
  }

  /** The id under which it goes on; `undefined` when it is too large to be carried around. */
  seal(conversation: Conversation, expiresAt = this.#clock.now() + CONVERSATION_MS) {
    return this.#seal({ ...conversation, nonce: randomUUID(), expiresAt });
  }

  /** The id of an attempt that waits here, and the name by which it is found again. */
  sealParked(conversation: Conversation, expiresAt: number) {
    const nonce = randomUUID();
    const parked = { parkedIn: this.#process, parkedAt: this.#options.gatewayId };
    return { nonce, id: this.#seal({ ...conversation, nonce, expiresAt, ...parked }) };
  }

  /** BAD_INPUT for an id that is unknown or of another principal, and for answers that do not fit. */
  open(id: string, principalId: string, inputs: readonly GivenInput[] | undefined): Reopened {
    const sealed = this.#unseal(id);
    if (sealed?.principalId !== principalId) throw failure('unknown_conversation');
    const isWaiting = sealed.questions.length > 0;
    if (isWaiting && this.#isUsed(sealed)) throw failure('no_open_question');
    if (!isWaiting && sealed.expiresAt < this.#clock.now()) throw failure('unknown_conversation');
    if (!isWaiting && inputs !== undefined && inputs.length > 0) throw failure('no_open_question');
    const responses = isWaiting
      ? assertAnswers(sealed.questions, inputs, this.#validators)
      : undefined;
    const parked = this.#parkedPlace(sealed);
    if (parked === 'elsewhere') throw failure('other_gateway', { agent_id: sealed.agentId });
    if (parked === 'gone') throw failure('interrupted', { agent_id: sealed.agentId });
    return { ...sealed, isParked: parked === 'here', responses };
  }

  /**
   * BAD_INPUT for answers that do not fit their questions; others may follow. The answers of a job are
   * stored, so a question that waits at another gateway can be answered here.
   */
  assertFit(id: string, principalId: string, inputs: readonly GivenInput[]): void {
    const sealed = this.#unseal(id);
    if (sealed?.principalId !== principalId) throw failure('unknown_conversation');
    const given = new Set(inputs.map((input) => input.id));
    const answered = sealed.questions.filter((question) => given.has(question.id));
    assertAnswers(answered, inputs, this.#validators);
    if (this.#parkedPlace(sealed) === 'gone')
      throw failure('interrupted', { agent_id: sealed.agentId });
  }

  /** The name of the attempt that waits in some process for answers; `undefined` when none does. */
  parkedIn(id: string, principalId: string): string | undefined {
    const sealed = this.#unseal(id);
    if (sealed?.principalId !== principalId || sealed.parkedIn === undefined) return undefined;
    return sealed.nonce;
  }

  /** What runs at an agent, or waits there, under this id. */
  find(
    id: string,
    principalId: string,
  ): Pick<Conversation, 'agentId' | 'nodeId' | 'handle'> | undefined {
    const sealed = this.#unseal(id);
    return sealed?.principalId === principalId ? sealed : undefined;
  }

  /** An answer counts once, at all gateways together; BAD_INPUT when it was used before. */
  async use({ nonce, questions }: Reopened): Promise<void> {
    const now = this.#clock.now();
    if (this.#used.size >= MAX_USED) {
      for (const [old, until] of this.#used) if (until < now) this.#used.delete(old);
    }
    this.#used.set(nonce, now + CONVERSATION_MS);
    if (questions.length > 0 && !(await this.#takeShared(nonce))) throw failure('no_open_question');
  }

  /** False when another gateway took it; while the store is away each gateway counts for itself. */
  async #takeShared(nonce: string): Promise<boolean> {
    const { answered, log } = this.#options;
    const writes = [{ kind: 'put', key: nonce, value: 1, ttlMs: CONVERSATION_MS } as const];
    const ifKeys = new Map([[nonce, 0]]);
    try {
      return (await answered?.commit('answered', { writes, ifKeys }))?.ok ?? true;
    } catch (thrown) {
      const error = FabricError.from(thrown);
      log?.warn({ error }, 'other gateways are not notified of an answer');
      return true;
    }
  }

  #parkedPlace({ parkedIn, parkedAt }: Sealed): 'nowhere' | 'here' | 'gone' | 'elsewhere' {
    if (parkedIn === undefined) return 'nowhere';
    if (parkedIn === this.#process) return 'here';
    return parkedAt === this.#options.gatewayId ? 'gone' : 'elsewhere';
  }

  #isUsed({ nonce, expiresAt }: Sealed): boolean {
    return this.#used.has(nonce) || expiresAt < this.#clock.now();
  }

  #seal(sealed: Sealed): string | undefined {
    const id = `${VERSION}.${this.#sealing.seal(JSON.stringify(sealed))}`;
    return id.length > MAX_ID_LENGTH ? undefined : id;
  }

  #unseal(id: string): Sealed | undefined {
    const [version, text = ''] = id.split('.');
    const opened = version === VERSION ? this.#sealing.open(text) : undefined;
    return opened === undefined ? undefined : (JSON.parse(opened) as Sealed);
  }
}

/**
 * The answers in the order of the questions; BAD_INPUT when one is missing, unasked or does not fit.
 * Answers in the agent's own protocol are for the agent to judge, and unasked ones are ignored.
 */
function assertAnswers(
  questions: readonly OpenQuestion[],
  inputs: readonly GivenInput[] | undefined,
  validators: SchemaValidators,
): InputResponse[] {
  const answers = inputs ?? [];
  const given = new Map(answers.map(({ id, response }) => [id, response]));
  const stray = answers.find(
    ({ id, response }) =>
      response.native === undefined && questions.every((question) => question.id !== id),
  );
  if (stray)
    throw badAnswer('no_open_question', `Nothing was asked under "${stray.id}"`, questions);
  if (given.size < answers.length) {
    throw badAnswer('answered_twice', 'A question is answered twice', questions);
  }
  return questions.map((question) => {
    const response = given.get(question.id);
    if (!response) {
      throw badAnswer('answer_missing', `"${question.id}" is not answered`, questions);
    }
    if (response.action === 'accept' && response.native === undefined) {
      assertFits(question, response.content, questions, validators);
    }
    return { id: question.id, ...response };
  });
}

function assertFits(
  { id, kind, schema, options }: OpenQuestion,
  content: unknown,
  questions: readonly OpenQuestion[],
  validators: SchemaValidators,
): void {
  const fail = (problem: string) => {
    throw badAnswer(
      'answer_does_not_fit',
      `The answer to "${id}" does not fit: ${problem}`,
      questions,
    );
  };
  if (kind === 'text' && typeof field(content, 'text') !== 'string') fail('expected {"text": …}');
  if (kind === 'choice' && options?.every((option) => option.id !== field(content, 'choice'))) {
    fail(`expected {"choice": …} with one of ${options.map((option) => option.id).join(', ')}`);
  }
  if (kind !== 'form' || schema === undefined) return;
  const problem = problemWith(schema, content, validators);
  if (problem !== undefined) fail(problem);
}

/** An answer to a question whose schema cannot be used is for the agent to judge. */
function problemWith(
  schema: Record<string, unknown>,
  content: unknown,
  validators: SchemaValidators,
): string | undefined {
  try {
    return validators.problems({ type: 'object', ...schema }, content, 'content')[0];
  } catch (error) {
    if (error instanceof SchemaProblem) return undefined;
    throw error;
  }
}

function field(content: unknown, name: string): unknown {
  return typeof content === 'object' && content !== null ? Reflect.get(content, name) : undefined;
}

function badAnswer(
  reason: string,
  message: string,
  questions: readonly OpenQuestion[],
): FabricError {
  const open = questions.map(({ id }) => id);
  return new FabricError('BAD_INPUT', message, {
    details: { reason, open, questions, fix: 'answer each open question once, as its schema says' },
  });
}
