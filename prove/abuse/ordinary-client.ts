// The client that must not notice an attack: it calls an ordinary agent and updates a session, each at
// a fixed rate, whether or not earlier requests were answered. A closed loop would send less while the
// gateway is slow, and so hide it.

import type { Agent } from 'node:http';
import { quantile } from '../../bench/statistics.ts';
import { ask, openAgent, post, readCalled, toolCall } from './http-client.ts';

export interface OrdinaryPlace {
  /** Of the gateway. */
  readonly url: string;
  readonly key: string;
  /** Of the agent that it calls. */
  readonly agentUrl: string;
}

export interface Sample {
  readonly ok: boolean;
  readonly ms: number;
}

export interface Latencies {
  readonly sent: number;
  readonly ok: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Observed {
  readonly calls: Latencies;
  readonly updates: Latencies;
  /** The same agent without a gateway: how fast the machine is meanwhile. */
  readonly direct: Latencies;
  /** How the first requests that failed were answered. */
  readonly failures: readonly string[];
}

const CALLS_EVERY_MS = 20;
const UPDATES_EVERY_MS = 50;
const DIRECT_EVERY_MS = 20;
const ANSWER_MS = 20_000;
const SHOWN_FAILURES = 3;

export class OrdinaryClient {
  readonly session: string;
  readonly #place: OrdinaryPlace;
  readonly #agent: Agent = openAgent(256);
  #accepted = 0;
  #unknown = 0;
  #failures: string[] = [];

  static async open(place: OrdinaryPlace): Promise<OrdinaryClient> {
    const { url, key } = place;
    const params = { agent_id: 'ordinary', mode: 'cas' };
    const { result, error } = await ask(url, key, 'session_manager.create', params);
    if (!result) throw new Error(`no session: ${JSON.stringify(error)}`);
    return new OrdinaryClient(place, String(result.session_id));
  }

  private constructor(place: OrdinaryPlace, session: string) {
    this.#place = place;
    this.session = session;
  }

  /** Sends until the promise settles, then waits for the last answers. */
  async observe(until: Promise<unknown>): Promise<Observed> {
    this.#failures = [];
    const calls = repeat(CALLS_EVERY_MS, until, () => this.#call());
    const updates = repeat(UPDATES_EVERY_MS, until, () => this.#update());
    const direct = repeat(DIRECT_EVERY_MS, until, () => this.#callDirectly());
    return {
      calls: toLatencies(await calls),
      updates: toLatencies(await updates),
      direct: toLatencies(await direct),
      failures: this.#failures.slice(0, SHOWN_FAILURES),
    };
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

  close(): void {
    this.#agent.destroy();
  }

  async #call(): Promise<boolean> {
    const body = toolCall('fabric.call', { agent_id: 'good', capability: 'echo', task: 'hello' });
    const answer = await post(this.#place.url, {
      key: this.#place.key,
      body,
      agent: this.#agent,
      timeoutMs: ANSWER_MS,
    });
    const isRight = readCalled(answer)?.result?.answer === 'hello';
    if (!isRight) this.#failures.push(`call: ${answer.status} ${answer.text.slice(0, 300)}`);
    return isRight;
  }

  async #callDirectly(): Promise<boolean> {
    const body = JSON.stringify({ target: { capability: 'echo' }, input: { task: 'hello' } });
    const { pathname: path } = new URL(this.#place.agentUrl);
    const { text } = await post(this.#place.agentUrl, { path, body, agent: this.#agent });
    return text.includes('hello');
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
  send: () => Promise<boolean>,
): Promise<readonly Sample[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const samples: Promise<Sample>[] = [];
  const timer = setInterval(() => {
    const begun = performance.now();
    samples.push(send().then((ok) => ({ ok, ms: performance.now() - begun })));
  }, everyMs);
  void until.then(
    () => resolve(),
    () => resolve(),
  );
  await promise;
  clearInterval(timer);
  return Promise.all(samples);
}

function toLatencies(samples: readonly Sample[]): Latencies {
  const times = samples.map(({ ms }) => ms);
  return {
    sent: samples.length,
    ok: samples.filter(({ ok }) => ok).length,
    p50: quantile(times, 0.5) ?? 0,
    p99: quantile(times, 0.99) ?? 0,
  };
}
