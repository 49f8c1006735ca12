// One agent of the workload: keeps a connection and a life, and records what it asks. A request
// without an answer is sent again under its key, so that it takes effect once at most; a refusal of
// the repetition says nothing about the first.

import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '@starloom/core';
import type { Asked, History, Operation, Outcome, Result } from './history.ts';
import type { Answer, Fields, Link, OnPush, OpenLink } from './link.ts';

export interface ClientOptions {
  readonly agent: string;
  readonly open: OpenLink;
  readonly history: History;
  /** Aborts when nothing more is to be waited for. */
  readonly signal: AbortSignal;
  readonly onPush?: OnPush | undefined;
  readonly onConnect?: ((link: Link) => Promise<void>) | undefined;
}

export interface Request {
  readonly session: string;
  readonly operation: Operation;
  readonly method: string;
  readonly params: Fields;
  readonly toResult: (result: Fields) => Result;
  /** The life to act in; by default the present one. */
  readonly epoch?: number | undefined;
  /** By default it is sent once, without a key. */
  readonly sending?: Sending | undefined;
}

export interface Sending {
  /** How often it may be sent again while there is no answer. */
  readonly repeats: number;
  /** The connection is cut while the first request is under way. */
  readonly isCut: boolean;
  /** Sent once more over a new connection after it was answered. */
  readonly isRepeated: boolean;
}

const RECONNECT_MS = 50;
const REPEAT_FOR_MS = 20_000;
const ONCE: Sending = { repeats: 0, isCut: false, isRepeated: false };

export class Client {
  readonly agent: string;
  epoch = 0;
  readonly #options: ClientOptions;
  #link: Link | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.agent = options.agent;
  }

  /** Begins a life; true when it did. */
  async register(): Promise<boolean> {
    const outcome = await this.perform({
      session: '',
      operation: { kind: 'register' },
      method: 'agent_registry.register',
      params: { capabilities: [], epoch: undefined },
      toResult: ({ epoch }) => ({ epoch: Number(epoch) }),
    });
    if (outcome.kind !== 'ok') return false;
    this.epoch = outcome.result.epoch ?? 0;
    return true;
  }

  async perform(request: Request): Promise<Outcome> {
    const { history } = this.#options;
    const { agent } = this;
    const { session, operation, method, toResult, epoch = this.epoch } = request;
    const { repeats, isCut, isRepeated } = request.sending ?? ONCE;
    const id = history.nextId(agent);
    const params = toParams(request, { agent, epoch, id });
    const link = await this.link();
    const settle = history.invoke({ agent, epoch, session, operation }, id);
    const first = link.request(method, params);
    if (isCut) link.close();
    const answer = await this.#insist(await first, repeats, method, params);
    const outcome = toOutcome(answer, toResult);
    settle(outcome);
    if (isRepeated && repeats > 0 && outcome.kind === 'ok') {
      const asked = { agent, epoch, session, operation: { kind: 'repeat', of: id } } as const;
      await this.#repeat(asked, request, params);
    }
    return outcome;
  }

  /** Not recorded. */
  async ask(method: string, params: Fields): Promise<Answer> {
    const answer = await (await this.link()).request(method, params);
    if (answer.kind === 'unknown') await this.#pause();
    return answer;
  }

  /** The connection; a new one when there is none. Rejects when it is not to be waited for. */
  async link(until?: AbortSignal): Promise<Link> {
    const { open, onPush = () => {}, onConnect } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, ...(until ? [until] : [])]);
    while (!this.#link?.isOpen) {
      signal.throwIfAborted();
      try {
        const link = await open(onPush);
        await onConnect?.(link);
        this.#link = link;
      } catch {
        await this.#pause();
      }
    }
    return this.#link;
  }

  disconnect(): void {
    this.#link?.close();
  }

  /** Until there is an answer. */
  async #insist(first: Answer, repeats: number, method: string, params: Fields): Promise<Answer> {
    let answer = first;
    const giveUpAt = performance.now() + REPEAT_FOR_MS;
    for (let sent = 0; answer.kind === 'unknown' && sent < repeats; sent += 1) {
      if (performance.now() > giveUpAt) break;
      answer = asRepetition(await this.ask(method, params));
    }
    return answer;
  }

  async #repeat(asked: Asked, { method, toResult }: Request, params: Fields): Promise<void> {
    const { history } = this.#options;
    this.disconnect();
    await this.link();
    const settle = history.invoke(asked, history.nextId(this.agent));
    settle(toOutcome(await this.ask(method, params), toResult));
  }

  async #pause(): Promise<void> {
    await delay(RECONNECT_MS, undefined, { signal: this.#options.signal });
  }
}

export function toVersion(result: Fields): Result {
  return { version: Number(result.version), ...toToken(result) };
}

/** A place in the queue has none. */
export function toToken({ lock_token }: Fields): Result {
  return lock_token === undefined ? {} : { token: Number(lock_token) };
}

/** The answer to `context_coordinator.get` of one key. */
export function toRead(key: string): (result: Fields) => Result {
  return ({ context, versions }) => {
    const values = context as Readonly<Record<string, Json>>;
    const known = versions as Readonly<Record<string, number>>;
    return { value: values[key] ?? null, version: known[key] ?? 0 };
  };
}

export function toOutcome(answer: Answer, toResult: (result: Fields) => Result): Outcome {
  return answer.kind === 'ok' ? { kind: 'ok', result: toResult(answer.result) } : answer;
}

function toParams(
  { session, method, params, sending = ONCE }: Request,
  { agent, epoch, id }: { readonly agent: string; readonly epoch: number; readonly id: string },
): Fields {
  const life = epoch > 0 ? { epoch } : {};
  const key = sending.repeats > 0 ? { idempotency_key: id } : {};
  const cause = method === 'context_coordinator.update' ? { cause: id } : {};
  const place = session === '' ? {} : { session_id: session };
  return { agent_id: agent, ...life, ...place, ...key, ...cause, ...params };
}

function asRepetition(answer: Answer): Answer {
  if (answer.kind !== 'refused') return answer;
  return { kind: 'unknown', why: `repetition refused: ${answer.reason}` };
}
