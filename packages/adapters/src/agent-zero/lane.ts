import {
  type AgentHandle,
  type CallContext,
  type EventBody,
  FabricError,
  orAborted,
} from '@starloom/core';
import { cleanText, deadlineSignal } from '@starloom/wire';
import type { HttpClient } from '../http/http-client.ts';
import { JsonRequests } from '../http/json-requests.ts';
import type { ProfileCall } from '../http/profile.ts';
import { failure } from '../reasons.ts';
import type { AgentZeroOptions, LaneName } from './options.ts';

/** One of the interfaces of Agent Zero. */
export interface AgentZeroLane {
  call(call: ProfileCall): AsyncIterable<EventBody>;
  /** Rejects unless the agent serves this interface to us; changes nothing at the agent. */
  probe(context: CallContext): Promise<void>;
  close(): Promise<void>;
}

/** An interface over plain requests; it has nothing to close. */
export abstract class ClientLane {
  protected readonly client: HttpClient;
  protected readonly options: AgentZeroOptions;

  constructor(client: HttpClient, options: AgentZeroOptions) {
    this.client = client;
    this.options = options;
  }

  async close(): Promise<void> {}

  /** Requests that belong to no call. */
  protected requests({ signal, log }: CallContext): JsonRequests {
    return new JsonRequests(this.client, { signal, log });
  }

  protected post(path: string, body: object, requests: JsonRequests): Promise<unknown> {
    return requests.json({ method: 'POST', path: this.client.target.pathOf(path), body });
  }
}

const PROBE_MS = 15_000;

type Openers = Readonly<Record<LaneName, () => Promise<AgentZeroLane>>>;

/** The interface that calls take: the one that is named, else the first that the agent serves. */
export class LaneChoice {
  readonly #openers: Openers;
  readonly #names: readonly LaneName[];
  readonly #opened = new Map<LaneName, Promise<AgentZeroLane>>();
  #chosen: Promise<AgentZeroLane> | undefined;

  constructor(openers: Openers, names: readonly LaneName[]) {
    this.#openers = openers;
    this.#names = names;
  }

  /** Rejects with `sent: false`: probing sends no part of a call. */
  async get({ signal, log }: CallContext): Promise<AgentZeroLane> {
    const [only] = this.#names;
    if (only !== undefined && this.#names.length === 1) return this.#open(only);
    this.#chosen ??= this.#probe(log).catch((error: unknown) => {
      this.#chosen = undefined;
      throw error;
    });
    return orAborted(this.#chosen, signal);
  }

  /** The next call looks again. */
  forget(): void {
    this.#chosen = undefined;
  }

  async close(): Promise<void> {
    const lanes = await Promise.all(this.#opened.values());
    await Promise.all(lanes.map((lane) => lane.close()));
  }

  async #probe(log: CallContext['log']): Promise<AgentZeroLane> {
    using deadline = deadlineSignal({ ms: PROBE_MS });
    const failures: FabricError[] = [];
    for (const name of this.#names) {
      const lane = await this.#open(name);
      try {
        await lane.probe({ signal: deadline.signal, log });
        log.info({ lane: name }, 'Agent Zero is reached by this interface');
        return lane;
      } catch (thrown) {
        const error = FabricError.from(thrown);
        log.debug({ lane: name, error }, 'Agent Zero does not serve this interface');
        failures.push(error);
        if (error.code === 'AGENT_OFFLINE' || error.code === 'TIMEOUT') break;
      }
    }
    throw noLane(failures, this.#names);
  }

  #open(name: LaneName): Promise<AgentZeroLane> {
    const opened = this.#opened.get(name) ?? this.#openers[name]();
    this.#opened.set(name, opened);
    return opened;
  }
}

/** Why no interface was found: the agent is down, it refused us, or it serves none of them. */
function noLane(failures: readonly FabricError[], lanes: readonly LaneName[]): FabricError {
  const last = failures.at(-1);
  const isDown = last?.code === 'AGENT_OFFLINE' || last?.code === 'TIMEOUT';
  const telling = isDown ? last : failures.find(({ code }) => code === 'AUTH_DENIED');
  const tried = lanes.slice(0, failures.length);
  const none = failure('no_interface/agent_zero', { tried }, { cause: telling ?? last });
  if (!telling) return none;
  const details = { ...telling.details, ...none.details, reason: telling.details.reason };
  return new FabricError(telling.code, telling.message, { details, cause: telling });
}

const MAX_REASON = 2_000;

/** The chat that an earlier call of the conversation kept. */
export function chatOf(handle: AgentHandle | undefined): string | undefined {
  const chat = handle?.chat;
  return typeof chat === 'string' && /^[\w-]{1,128}$/.test(chat) ? chat : undefined;
}

/** An error that the agent answered with as if it were a success. */
export function chatFailure(reason: string | undefined): FabricError {
  const upstream = cleanText(reason, MAX_REASON) || 'The agent gave no reason';
  return failure('tool_error/zero', { upstream });
}

export function badAnswer(problem: string): FabricError {
  return failure('bad_result/agent_zero', { problem });
}
