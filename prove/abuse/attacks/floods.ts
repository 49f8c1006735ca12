// Attacks by the amount of work that one principal leaves with the gateway: waits, subscriptions, jobs.

import { WebSocket } from 'ws';
import { type Attack, Counts, loops, problemsIf, type Target } from '../attack.ts';
import { ask, openAgent, post, readCalled, toBody, toolCall } from '../http-client.ts';

const WAITS = 1_500;
const WAITING_AGENTS = 50;
/** waits_per_principal */
const MAX_WAITS = 1_000;
const SUBSCRIBERS = 8;
/** subscriptions_per_connection */
const SUBSCRIPTIONS = 1_000;
const JOBS_AT_ONCE = 32;
const SESSION = 'floods';

export const waitingLocks: Attack = {
  about: `${WAITS} waits of one principal for a lock that is held, by agents that hold locks`,
  async run(target) {
    const counts = new Counts();
    const create = { session_id: SESSION, agent_id: 'holder' };
    await ask(target.url, target.key, 'session_manager.create', create);
    using sockets = new DisposableStack();
    const connect = async () => sockets.use(await Plane.connect(target));
    const planes = await Promise.all([connect(), connect()]);
    const lock = { session_id: SESSION, ttl_ms: 600_000 };
    const use = (n: number, method: string, params: object) =>
      planes[n % planes.length]?.ask(method, params);
    await use(0, 'memory_locker.acquire', { ...lock, agent_id: 'holder' });
    const agents = Array.from({ length: WAITING_AGENTS }, (_, n) => `waiter${n}`);
    await Promise.all(
      agents.map(async (agent_id, n) => {
        await use(n, 'session_manager.join', { session_id: SESSION, agent_id });
        await use(n, 'memory_locker.acquire', { ...lock, agent_id, resource: agent_id });
      }),
    );
    const wait_ms = Math.round(target.seconds * 600);
    const answers = Array.from({ length: WAITS }, async (_, n) => {
      const agent_id = agents[n % agents.length];
      const answer = await use(n, 'memory_locker.acquire', { ...lock, agent_id, wait_ms });
      counts.add(String(answer?.error?.code ?? 'granted'));
    });
    await Promise.all(answers);
    return {
      operations: WAITS,
      counts: counts.counts,
      problems: problemsIf({
        'not every wait beyond the limit was refused': counts.of('-32016') < WAITS - MAX_WAITS,
        'a wait for a held lock was granted': counts.of('granted') > 0,
        'a wait was not answered': counts.total < WAITS,
      }),
    };
  },
};

export const manySubscriptions: Attack = {
  about: `${SUBSCRIBERS * SUBSCRIPTIONS} subscriptions of one principal to a session that it writes to`,
  async run(target) {
    const counts = new Counts();
    const agent = { session_id: SESSION, agent_id: 'writer' };
    await ask(target.url, target.key, 'session_manager.create', { ...agent, mode: 'cas' });
    using sockets = new DisposableStack();
    const subscribe = async () => {
      const plane = sockets.use(await Plane.connect(target));
      const answers = Array.from({ length: SUBSCRIPTIONS }, async () => {
        const answer = await plane.ask('context_coordinator.subscribe', agent);
        counts.add(answer.error ? String(answer.error.code) : 'subscribed');
      });
      await Promise.all(answers);
    };
    await Promise.all(Array.from({ length: SUBSCRIBERS }, subscribe));
    await loops(target, 4, async (n) => {
      const update = { ...agent, update: { n } };
      const said = await ask(target.url, target.key, 'context_coordinator.update', update);
      counts.add(said.result ? 'updated' : `update_${said.error?.code}`);
    });
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

export const manyJobs: Attack = {
  about: 'jobs of one principal without end',
  async run(target) {
    const counts = new Counts();
    const agent = openAgent(JOBS_AT_ONCE);
    const args = { agent_id: 'good', capability: 'echo', task: 'hello', async: true };
    const body = toolCall('fabric.call', args);
    await loops(target, JOBS_AT_ONCE, async () => {
      const called = readCalled(await post(target.url, { key: target.key, body, agent }));
      counts.add(called?.ok ? 'stored' : (called?.error?.code ?? 'unanswered'));
    });
    agent.destroy();
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

interface PlaneAnswer {
  readonly id?: number;
  readonly error?: { readonly code: number };
}

/** A WebSocket of the attacker to the coordination plane; what is pushed is read and dropped. */
class Plane implements Disposable {
  readonly #socket: WebSocket;
  readonly #open = new Map<number, (answer: PlaneAnswer) => void>();
  #nextId = 1;

  static async connect({ url, key }: Target): Promise<Plane> {
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/rpc/ws`, ['mcp'], { headers });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return new Plane(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => {
      const text = data.toString();
      if (text.startsWith('{"jsonrpc":"2.0","method"')) return;
      const answer = JSON.parse(text) as PlaneAnswer;
      if (answer.id !== undefined) this.#open.get(answer.id)?.(answer);
    });
  }

  ask(method: string, params: object): Promise<PlaneAnswer> {
    const id = this.#nextId;
    this.#nextId += 1;
    const { promise, resolve } = Promise.withResolvers<PlaneAnswer>();
    this.#open.set(id, resolve);
    this.#socket.send(toBody(method, params, id));
    return promise;
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}
