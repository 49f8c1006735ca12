// What the gateway keeps of calls that go on later: conversations with an agent, and calls that wait
// for an answer. An id is the sealed entry itself, so that it is good after a restart, and on other
// gateways with the same key; only its owner can use it. An attempt that waits inside this process
// is named by its id, and is gone when the process is.

import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import {
  type AgentHandle,
  type Clock,
  type Envelope,
  FabricError,
  type GivenInput,
  type InputRequest,
  type InputResponse,
} from '@starloom/core';
import type { SchemaValidators } from '@starloom/wire/foreign-schema';
import { assertAnswers } from './assert-answers.ts';

export interface Conversation {
  readonly principalId: string;
  readonly agentId: string;
  readonly capability: string;
  readonly handle?: AgentHandle | undefined;
  /** What the call was given, for a caller that does not send it again. */
  readonly input?: Envelope['input'] | undefined;
  /** What the agent asked and waits for. */
  readonly questions: readonly OpenQuestion[];
}

export type OpenQuestion = Pick<InputRequest, 'id' | 'kind' | 'schema' | 'options'>;

interface Sealed extends Conversation {
  readonly nonce: string;
  readonly expiresAt: number;
  /** Of the process in which the attempt waits. */
  readonly parkedIn?: string | undefined;
}

export interface Reopened extends Conversation {
  readonly nonce: string;
  readonly isParked: boolean;
  readonly responses: InputResponse[] | undefined;
}

export interface ConversationsOptions {
  readonly clock: Clock;
  /** 32 bytes; gateways that share it take up each other's conversations. */
  readonly key?: Buffer | undefined;
  readonly validators: SchemaValidators;
}

const CONVERSATION_MS = 24 * 3_600_000;
/** Larger than any ordinary handle with its input; ids travel in every request. */
const MAX_ID_LENGTH = 512 * 1024;
const MAX_USED = 100_000;
const VERSION = 'c1';

export class Conversations {
  readonly #clock: Clock;
  readonly #key: Buffer;
  readonly #validators: SchemaValidators;
  readonly #process = randomUUID();
  /** Answers that were used, until they would have expired. */
  readonly #used = new Map<string, number>();

  constructor({ clock, key = randomBytes(32), validators }: ConversationsOptions) {
    this.#validators = validators;
    this.#clock = clock;
    this.#key = key;
  }

  /** The id under which it goes on; `undefined` when it is too large to be carried around. */
  seal(conversation: Conversation, expiresAt = this.#clock.now() + CONVERSATION_MS) {
    return this.#seal({ ...conversation, nonce: randomUUID(), expiresAt });
  }

  /** The id of an attempt that waits here, and the name by which it is found again. */
  sealParked(conversation: Conversation, expiresAt: number) {
    const nonce = randomUUID();
    const parkedIn = this.#process;
    return { nonce, id: this.#seal({ ...conversation, nonce, expiresAt, parkedIn }) };
  }

  /** BAD_INPUT for an id that is unknown or of another principal, and for answers that do not fit. */
  open(id: string, principalId: string, inputs: readonly GivenInput[] | undefined): Reopened {
    const sealed = this.#unseal(id);
    if (sealed?.principalId !== principalId) throw unknownConversation();
    const isWaiting = sealed.questions.length > 0;
    if (isWaiting && this.#isUsed(sealed)) throw noOpenQuestion();
    if (!isWaiting && sealed.expiresAt < this.#clock.now()) throw unknownConversation();
    if (!isWaiting && inputs !== undefined && inputs.length > 0) throw noOpenQuestion();
    const responses = isWaiting
      ? assertAnswers(sealed.questions, inputs, this.#validators)
      : undefined;
    const { parkedIn } = sealed;
    if (parkedIn !== undefined && parkedIn !== this.#process) throw interrupted(sealed.agentId);
    return { ...sealed, isParked: parkedIn !== undefined, responses };
  }

  /** BAD_INPUT for answers that do not fit their questions; others may follow. */
  assertFit(id: string, principalId: string, inputs: readonly GivenInput[]): void {
    const sealed = this.#unseal(id);
    if (sealed?.principalId !== principalId) throw unknownConversation();
    const given = new Set(inputs.map((input) => input.id));
    const answered = sealed.questions.filter((question) => given.has(question.id));
    assertAnswers(answered, inputs, this.#validators);
    const { parkedIn, agentId } = sealed;
    if (parkedIn !== undefined && parkedIn !== this.#process) throw interrupted(agentId);
  }

  /** The name of the attempt that waits in some process for answers; `undefined` when none does. */
  parkedIn(id: string, principalId: string): string | undefined {
    const sealed = this.#unseal(id);
    if (sealed?.principalId !== principalId || sealed.parkedIn === undefined) return undefined;
    return sealed.nonce;
  }

  /** What runs at an agent, or waits there, under this id. */
  find(id: string, principalId: string): Pick<Conversation, 'agentId' | 'handle'> | undefined {
    const sealed = this.#unseal(id);
    return sealed?.principalId === principalId ? sealed : undefined;
  }

  /** An answer counts once. */
  use({ nonce }: Reopened): void {
    const now = this.#clock.now();
    if (this.#used.size >= MAX_USED) {
      for (const [old, until] of this.#used) if (until < now) this.#used.delete(old);
    }
    this.#used.set(nonce, now + CONVERSATION_MS);
  }

  #isUsed({ nonce, expiresAt }: Sealed): boolean {
    return this.#used.has(nonce) || expiresAt < this.#clock.now();
  }

  #seal(sealed: Sealed): string | undefined {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    const text = cipher.update(JSON.stringify(sealed), 'utf8');
    const bytes = Buffer.concat([iv, text, cipher.final(), cipher.getAuthTag()]);
    const id = `${VERSION}.${bytes.toString('base64url')}`;
    return id.length > MAX_ID_LENGTH ? undefined : id;
  }

  #unseal(id: string): Sealed | undefined {
    const [version, text = ''] = id.split('.');
    const bytes = Buffer.from(text, 'base64url');
    if (version !== VERSION || bytes.length < 29) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(-16));
      const plain = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
      return JSON.parse(plain.toString('utf8')) as Sealed;
    } catch {
      return undefined;
    }
  }
}

export function unknownConversation(): FabricError {
  return new FabricError('BAD_INPUT', 'There is no such conversation', {
    details: {
      reason: 'unknown_conversation',
      fix: 'use the conversation_id of an earlier answer, or call without one',
    },
  });
}

export function noOpenQuestion(): FabricError {
  return new FabricError('BAD_INPUT', 'No question is open for this answer', {
    details: { reason: 'no_open_question', fix: 'call again; an answer is used once' },
  });
}

function interrupted(agentId: string): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The gateway restarted while the agent waited', {
    details: { agent_id: agentId, reason: 'interrupted', fix: 'call again from the start' },
  });
}
