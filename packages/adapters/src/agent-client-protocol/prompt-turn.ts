// One prompt and what comes of it: updates become events, requests of the agent become questions to
// the caller, in the order in which they came. It ends once; what comes later is dropped.

import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  PermissionOption,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { type EventBody, type InputRequest, type InputResponse, toFields } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { CallEvents } from '../upstream/call-events.ts';
import { stopFailure, toFailure } from './failure.ts';
import type { OpenTurnOptions } from './open-turn.ts';
import { Translator } from './translate.ts';

type PromptTurnOptions = Pick<OpenTurnOptions, 'context' | 'options' | 'excerpt'>;

export class PromptTurn {
  readonly events: CallEvents;
  readonly #options: PromptTurnOptions;
  readonly #onAnswered: () => void;
  readonly #translator = new Translator();
  readonly #over = Promise.withResolvers<undefined>();
  #questions = 0;
  #isAnswered = false;

  /** `onAnswered`: the agent ended the turn, and the conversation can go on. */
  constructor(options: PromptTurnOptions, onAnswered: () => void) {
    this.#options = options;
    this.#onAnswered = onAnswered;
    this.events = new CallEvents(options.options.max_output_bytes);
  }

  /** Whether the agent itself ended it. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  takeUpdate(update: unknown, bytes: number): void {
    try {
      this.events.count(bytes);
      this.#push(this.#translator.update(update), bytes);
    } catch (error) {
      this.fail(error);
    }
  }

  async permission(request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { permissions } = this.#options.options;
    this.#push(this.#translator.permission(request.toolCall), 0);
    if (permissions !== 'ask') return decide(permissions, request.options);
    if (request.options.length === 0) return CANCELLED;
    const response = await this.#ask((id) => toPermissionQuestion(id, request));
    return toPermission(response, request.options);
  }

  async elicit(request: CreateElicitationRequest): Promise<CreateElicitationResponse> {
    return toElicited(await this.#ask((id) => toElicitedQuestion(id, request)));
  }

  /** The agent answered the prompt. */
  finish({ stopReason }: PromptResponse): void {
    const { excerpt } = this.#options;
    this.#isAnswered = true;
    this.#onAnswered();
    const failure = stopFailure(stopReason, excerpt(this.#translator.text));
    if (failure) this.events.fail(failure);
    else this.#push(this.#translator.end(), 0);
    this.stop();
  }

  fail(error: unknown): void {
    this.events.fail(toFailure(error, this.#options.excerpt));
    this.stop();
  }

  /** Open questions are answered `cancel`: the caller left, or the turn is over. */
  stop(): void {
    this.#over.resolve(undefined);
  }

  /** `undefined` when no caller can be asked, or the turn ends before it answers. */
  async #ask(
    toQuestion: (id: string) => InputRequest | undefined,
  ): Promise<InputResponse | undefined> {
    const { ask } = this.#options.context;
    this.#questions += 1;
    const question = toQuestion(`question-${this.#questions}`);
    if (!ask || !question) return undefined;
    const answered = Promise.withResolvers<InputResponse | undefined>();
    this.events.defer(async () => {
      const [response] = await ask([question]);
      answered.resolve(response);
    });
    return Promise.race([answered.promise, this.#over.promise]);
  }

  #push(bodies: readonly EventBody[], bytes: number): void {
    for (const [at, body] of bodies.entries()) this.events.push(body, at === 0 ? bytes : 0);
  }
}

const MAX_MESSAGE = 2_000;
const MAX_LABEL = 200;

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

/**
 * What an agent asks in the middle of a turn: permission to use a tool, and questions for people.
 */
function toPermissionQuestion(
  id: string,
  { toolCall, options }: RequestPermissionRequest,
): InputRequest {
  const what = cleanText(toolCall.title ?? toolCall.name, MAX_MESSAGE) || 'a tool';
  const input = toolCall.rawInput === undefined ? '' : JSON.stringify(toolCall.rawInput);
  const details = cleanText(input, MAX_MESSAGE);
  return {
    id,
    kind: 'choice',
    message: `The agent asks for permission: ${what}${details ? `\n${details}` : ''}`,
    options: options.map(({ optionId, name, kind }) => ({
      id: optionId,
      label: cleanText(name, MAX_LABEL) || kind,
      kind,
    })),
  };
}

/** A choice that the agent did not offer counts as `cancel`. */
function toPermission(
  response: InputResponse | undefined,
  options: readonly PermissionOption[],
): RequestPermissionResponse {
  if (response?.action === 'decline') return decide('deny', options);
  if (response?.action !== 'accept') return CANCELLED;
  const { choice } = toFields(response.content);
  const chosen = options.find(({ optionId }) => optionId === choice);
  return chosen ? toSelected(chosen) : CANCELLED;
}

/** The answer of a policy; `once` wins over `always` where the agent offers both. */
function decide(
  policy: 'allow' | 'deny',
  options: readonly PermissionOption[],
): RequestPermissionResponse {
  const kinds = policy === 'allow' ? ALLOWING : REJECTING;
  const [chosen] = kinds.flatMap((kind) => options.filter((option) => option.kind === kind));
  return chosen ? toSelected(chosen) : CANCELLED;
}

/** `undefined` for a question of a kind that is not known here. */
function toElicitedQuestion(
  id: string,
  request: CreateElicitationRequest,
): InputRequest | undefined {
  const { mode, requestedSchema, url } = toFields(request);
  const message = cleanText(request.message, MAX_MESSAGE) ?? '';
  if (mode === 'form') return { id, kind: 'form', message, schema: toFields(requestedSchema) };
  if (mode === 'url' && typeof url === 'string') return { id, kind: 'url', message, url };
  return undefined;
}

function toElicited(response: InputResponse | undefined): CreateElicitationResponse {
  if (response?.action === 'accept') {
    const content = toFields(response.content);
    return { action: 'accept', content } as CreateElicitationResponse;
  }
  return { action: response?.action ?? 'cancel' };
}

const ALLOWING = ['allow_once', 'allow_always'] as const;
const REJECTING = ['reject_once', 'reject_always'] as const;

function toSelected({ optionId }: PermissionOption): RequestPermissionResponse {
  return { outcome: { outcome: 'selected', optionId } };
}
