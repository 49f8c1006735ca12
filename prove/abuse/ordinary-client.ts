// The client that must not notice an attack: it calls an ordinary agent and updates a session, each at
// a fixed rate, whether or not earlier requests were answered. A closed loop would send less while the
// gateway is slow, and so hide it.

import { type FileHandle, open } from 'node:fs/promises';
import type { Agent } from 'node:http';
import { join } from 'node:path';
import { quantile } from '../../bench/statistics.ts';
import { ask, openAgent, post, readCalled, toolCall } from './http-client.ts';
import { StolenTime } from './machine-load.ts';

export interface OrdinaryPlace {
  /** Of the gateway. */
  readonly url: string;
  readonly key: string;
  /** Of the agent that it calls. */
  readonly agentUrl: string;
  /** On the disk that the gateway writes to. */
  readonly folder: string;
  /** A bare proxy in front of the same agent, where there is one. */
  readonly proxyUrl?: string | undefined;
}

export interface Sample {
  readonly ok: boolean;
  readonly ms: number;
  /** The host gave cores of this machine to others meanwhile: how long it took says nothing. */
  readonly isStolen: boolean;
}

export interface Latencies {
  readonly sent: number;
  readonly ok: number;
  /** How many were left out of the times. */
  readonly stolen: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Observed {
  readonly calls: Latencies;
  readonly updates: Latencies;
  /** Calls on a connection of their own, each: it has to be accepted first. */
  readonly newcomers: Latencies;
  /** The same agent without a gateway: how fast the machine is meanwhile. */
  readonly direct: Latencies;
  /** A few bytes written to the disk, as every accepted update is. */
  readonly disk: Latencies;
  /** How the first requests that failed were answered. */
  readonly failures: readonly string[];
}

type Kind = Exclude<keyof Observed, 'failures'>;

/** What was seen in one stretch of time. */
export interface Slice {
  readonly samples: Readonly<Record<Kind, readonly Sample[]>>;
  readonly failures: readonly string[];
}

/** Several slices as if they were one. */
export function toObserved(slices: readonly Slice[]): Observed {
  const all = (kind: Kind) => toLatencies(slices.flatMap(({ samples }) => samples[kind]));
  return {
    calls: all('calls'),
    updates: all('updates'),
    newcomers: all('newcomers'),
    direct: all('direct'),
    disk: all('disk'),
    failures: slices.flatMap(({ failures }) => failures).slice(0, SHOWN_FAILURES),
  };
}

export function toLatencies(samples: readonly Sample[]): Latencies {
  const times = samples.flatMap(({ ms, isStolen }) => (isStolen ? [] : [ms]));
  return {
    sent: samples.length,
    ok: samples.filter(({ ok }) => ok).length,
    stolen: samples.length - times.length,
    p50: quantile(times, 0.5) ?? 0,
    p99: quantile(times, 0.99) ?? 0,
  };
}

const CALLS_EVERY_MS = 10;
const UPDATES_EVERY_MS = 50;
const DIRECT_EVERY_MS = 20;
const NEWCOMER_EVERY_MS = 200;
const BEAT_EVERY_MS = 10_000;
/** Open before anything is measured, as those of a client that is there for a while. */
const CONNECTIONS = 16;
const WARM_LOOPS = 6;
const ANSWER_MS = 20_000;
const SHOWN_FAILURES = 3;

export class OrdinaryClient implements AsyncDisposable {
  readonly session: string;
  readonly #place: OrdinaryPlace;
  readonly #file: FileHandle;
  readonly #agent: Agent = openAgent(CONNECTIONS);
  #beats: NodeJS.Timeout | undefined;
  #accepted = 0;
  #unknown = 0;
  #failures: string[] = [];

  static async open(place: OrdinaryPlace): Promise<OrdinaryClient> {
    const { url, key } = place;
    const params = { agent_id: 'ordinary', mode: 'cas' };
    const { result, error } = await ask(url, key, 'session_manager.create', params);
    if (!result) throw new Error(`no session: ${JSON.stringify(error)}`);
    const file = await open(join(place.folder, 'disk.txt'), 'a');
    const client = new OrdinaryClient(place, String(result.session_id), file);
    await Promise.all(Array.from({ length: CONNECTIONS }, () => client.#call(client.#agent)));
    client.#beats = setInterval(() => void client.#beat(), BEAT_EVERY_MS);
    return client;
  }

  private constructor(place: OrdinaryPlace, session: string, file: FileHandle) {
    this.#place = place;
    this.session = session;
    this.#file = file;
  }

  /** Calls and updates as fast as they are answered, until the gateway has compiled what serves them. */
  async warmUp(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1_000;
    const loop = async (send: () => Promise<unknown>) => {
      while (performance.now() < end) await send();
    };
    const calls = Array.from({ length: WARM_LOOPS }, () => loop(() => this.#call(this.#agent)));
    await Promise.all([...calls, loop(() => this.#update()), loop(() => this.#call())]);
  }

  /** Sends until the promise settles, then waits for the last answers. */
  async observe(until: Promise<unknown>): Promise<Slice> {
    this.#failures = [];
    using stolen = new StolenTime();
    const { agentUrl } = this.#place;
    const every = (ms: number, send: () => Promise<boolean>) => repeat(ms, until, stolen, send);
    const calls = every(CALLS_EVERY_MS, () => this.#call(this.#agent));
    const updates = every(UPDATES_EVERY_MS, () => this.#update());
    const newcomers = every(NEWCOMER_EVERY_MS, () => this.#call());
    const direct = every(DIRECT_EVERY_MS, () => this.#callWithoutGateway(agentUrl));
    const disk = every(UPDATES_EVERY_MS, () => this.#write());
    const samples = {
      calls: await calls,
      updates: await updates,
      newcomers: await newcomers,
      direct: await direct,
      disk: await disk,
    };
    return { samples, failures: this.#failures.slice(0, SHOWN_FAILURES) };
  }

  /** The same calls by way of the bare proxy. */
  async observeProxy(until: Promise<unknown>): Promise<readonly Sample[]> {
    const { proxyUrl, agentUrl } = this.#place;
    const url = new URL(new URL(agentUrl).pathname, proxyUrl).href;
    using stolen = new StolenTime();
    return await repeat(CALLS_EVERY_MS, until, stolen, () => this.#callWithoutGateway(url));
  }

  /** What the session counted, beside what was accepted: an update that is missing was lost. */
  async lostUpdates(): Promise<number> {
    const params = { session_id: this.session, agent_id: 'ordinary' };
    const { result } = await ask(
      this.#place.url,
      this.#place.key,
      'context_coordinator.get',
      params,
    );
    const { n = 0 } = (result?.context ?? {}) as { n?: number };
    const isRight = n >= this.#accepted && n <= this.#accepted + this.#unknown;
    return isRight ? 0 : Math.abs(this.#accepted - n);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#beats);
    this.#agent.destroy();
    await this.#file.close();
  }

  /** On a new connection unless there is an agent. */
  async #call(agent?: Agent): Promise<boolean> {
    const body = toolCall('fabric.call', { agent_id: 'good', capability: 'echo', task: 'hello' });
    const answer = await post(this.#place.url, {
      key: this.#place.key,
      body,
      ...(agent && { agent }),
      timeoutMs: ANSWER_MS,
    });
    const isRight = readCalled(answer)?.result?.answer === 'hello';
    if (!isRight) this.#failures.push(`call: ${answer.status} ${answer.text.slice(0, 300)}`);
    return isRight;
  }

  async #callWithoutGateway(url: string): Promise<boolean> {
    const body = JSON.stringify({ target: { capability: 'echo' }, input: { task: 'hello' } });
    const { pathname: path } = new URL(url);
    const { text } = await post(url, { path, body, agent: this.#agent });
    return text.includes('hello');
  }

  async #write(): Promise<boolean> {
    await this.#file.write('written\n');
    await this.#file.datasync();
    return true;
  }

  /** Without it the gateway counts the agent as lost; its updates would say so. */
  async #beat(): Promise<void> {
    const { url, key } = this.#place;
    await ask(url, key, 'agent_registry.heartbeat', { agent_id: 'ordinary' }, this.#agent);
  }

  async #update(): Promise<boolean> {
    const params = {
      session_id: this.session,
      agent_id: 'ordinary',
      op: 'increment',
      update: { n: 1 },
    };
    const method = 'context_coordinator.update';
    const { url, key } = this.#place;
    const said = await ask(url, key, method, params, this.#agent);
    if (said.result) this.#accepted += 1;
    else if (!said.error) this.#unknown += 1;
    if (!said.result) this.#failures.push(`update: ${JSON.stringify(said).slice(0, 300)}`);
    return said.result !== undefined;
  }
}

async function repeat(
  everyMs: number,
  until: Promise<unknown>,
  stolen: StolenTime,
  send: () => Promise<boolean>,
): Promise<readonly Sample[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const samples: Promise<{ readonly ok: boolean; readonly begun: number; readonly ms: number }>[] =
    [];
  const timer = setInterval(() => {
    const begun = performance.now();
    samples.push(send().then((ok) => ({ ok, begun, ms: performance.now() - begun })));
  }, everyMs);
  void until.then(
    () => resolve(),
    () => resolve(),
  );
  await promise;
  clearInterval(timer);
  const all = await Promise.all(samples);
  return all.map(({ ok, begun, ms }) => {
    return { ok, ms, isStolen: stolen.hitsBetween(begun, begun + ms) };
  });
}
