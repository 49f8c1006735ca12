// One agent of the workload: keeps a connection and a life, and records what it asks. A request
// without an answer is sent again under its key, so that it takes effect once at most; a refusal of
// the repetition says nothing about the first.

import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '@starloom/core';
import type { History, Operation, Outcome, Result } from './history.ts';
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
  readonly epoch?: number;
  /** How often it may be sent again. */
  readonly repeats?: number;
}

const RECONNECT_MS = 50;
const REPEAT_FOR_MS = 20_000;

export class Client {
  readonly agent: string;
  epoch = 0;
  /** The life before this one; 0 when there was none. */
  earlierEpoch = 0;
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
    this.earlierEpoch = this.epoch;
    this.epoch = outcome.result.epoch ?? 0;
    return true;
  }

  async perform(request: Request): Promise<Outcome> {
    const { history } = this.#options;
    const { agent } = this;
    const { session, operation, method, params, toResult, repeats = 0 } = request;
    const { epoch = this.epoch } = request;
    const id = history.nextId(agent);
    const life = epoch > 0 ? { epoch } : {};
    const key = repeats > 0 ? { idempotency_key: id } : {};
    const cause = method === 'context_coordinator.update' ? { cause: id } : {};
    const place = session === '' ? {} : { session_id: session };
    const whole = { agent_id: agent, ...life, ...place, ...key, ...cause, ...params };
    const link = await this.link();
    const settle = history.invoke({ agent, epoch, session, operation }, id);
    let answer = await link.request(method, whole);
    const giveUpAt = performance.now() + REPEAT_FOR_MS;
    for (let sent = 0; answer.kind === 'unknown' && sent < repeats; sent += 1) {
      if (performance.now() > giveUpAt) break;
      answer = asRepetition(await this.ask(method, whole));
    }
    const outcome = toOutcome(answer, toResult);
    settle(outcome);
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

  async #pause(): Promise<void> {
    await delay(RECONNECT_MS, undefined, { signal: this.#options.signal });
  }
}

export function toVersion({ version, lock_token }: Fields): Result {
  const token = lock_token === undefined ? {} : { token: Number(lock_token) };
  return { version: Number(version), ...token };
}

/** The answer to `context_coordinator.get` of one key. */
export function toRead(key: string): (result: Fields) => Result {
  return ({ context, versions }) => {
    const values = context as Readonly<Record<string, Json>>;
    const known = versions as Readonly<Record<string, number>>;
    return { value: values[key] ?? null, version: known[key] ?? 0 };
  };
}

function asRepetition(answer: Answer): Answer {
  if (answer.kind !== 'refused') return answer;
  return { kind: 'unknown', why: `repetition refused: ${answer.reason}` };
}

function toOutcome(answer: Answer, toResult: (result: Fields) => Result): Outcome {
  if (answer.kind === 'ok') return { kind: 'ok', result: toResult(answer.result) };
  return answer.kind === 'refused' ? { kind: 'refused', reason: answer.reason } : answer;
}
