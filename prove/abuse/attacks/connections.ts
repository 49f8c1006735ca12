// Attacks by the number of things that one principal opens.

import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { type Attack, Counts, comesTrue, problemsIf, type Target, times } from '../attack.ts';
import { ask, openAgent, post, readCalled, toBody, toolCall } from '../http-client.ts';
import { openRaw, pings } from '../web-socket.ts';

const MAX_CALLS = 3_000;
const CALLS_PER_SECOND = 600;
const SOCKETS = 4_100;
/** limits.sockets_per_principal */
const MAX_SOCKETS = 2_048;
const SESSIONS_PER_SECOND = 500;
/** A hang guard: so long the pings go on while the gateway takes them. */
const CUT_OFF_MS = 30_000;
const NEWCOMER_MS = 20_000;

export const callsInFlight: Attack = {
  about: 'thousands of calls in flight by one principal',
  agents: ['slow'],
  isProxied: true,
  run: (target) => floodWithCalls(target, 'slow'),
};

export const agentSlots: Attack = {
  about: 'thousands of slow calls by one principal to the agent that the ordinary client calls',
  isProxied: true,
  run: (target) => floodWithCalls(target, 'good'),
};

async function floodWithCalls(target: Target, agent_id: string) {
  const counts = new Counts();
  let withoutDelay = 0;
  const count = Math.min(MAX_CALLS, CALLS_PER_SECOND * Math.max(1, target.seconds));
  const agent = openAgent(count);
  const body = toolCall('fabric.call', { agent_id, capability: 'wait', timeout_ms: 20_000 });
  await times(count, count, async (n) => {
    // What matters is how many are in flight, not how many connect at once.
    await delay(n / 2);
    const answer = await post(target.url, { key: target.key, body, agent, timeoutMs: 60_000 });
    const called = readCalled(answer);
    counts.add(called?.ok ? 'ok' : (called?.error?.code ?? `status_${answer.status}`));
    if (called?.error && called.error.details?.retry_after_ms === undefined) withoutDelay += 1;
  });
  agent.destroy();
  const answered = counts.of('ok') + counts.of('OVERLOADED');
  return {
    operations: count,
    counts: counts.counts,
    problems: problemsIf({
      'no call was refused': counts.of('OVERLOADED') === 0,
      'a refusal does not say when to call again': withoutDelay > 0,
      'calls were neither served nor refused as OVERLOADED': answered < count,
    }),
  };
}

export const pingFlood: Attack = {
  about: 'WebSocket pings without end, whose pongs are not read',
  async run(target) {
    const flood = pings(2_000);
    const end = performance.now() + Math.max(target.seconds * 1_000, CUT_OFF_MS);
    let sent = 0;
    const openOne = async (path: string) => {
      const { socket, isOpen } = await openRaw(target.url, path, target.key);
      socket.pause();
      while (isOpen && !socket.destroyed && performance.now() < end) {
        await Promise.race([
          new Promise((resolve) => socket.write(flood, resolve)),
          new Promise((resolve) => socket.once('close', resolve)),
          new Promise((resolve) => setTimeout(resolve, 200)),
        ]);
        sent += 2_000;
      }
      const isCut = socket.destroyed;
      socket.destroy();
      return isOpen && isCut;
    };
    /** Comes back as often as it is cut off. */
    const open = async (path: string) => {
      const last = performance.now() + target.seconds * 1_000;
      while (await openOne(path)) if (performance.now() > last) return true;
      return false;
    };
    const paths = ['/mcp/ws', '/mcp/ws', '/rpc/ws', '/rpc/ws'];
    const cut = (await Promise.all(paths.map(open))).filter(Boolean).length;
    const kept = paths.length - cut;
    return {
      operations: sent,
      counts: { cut_off: cut },
      problems: problemsIf({ [`${kept} connections that read no pongs were kept`]: kept > 0 }),
    };
  },
};

export const manySockets: Attack = {
  about: `${SOCKETS} WebSockets of one principal; then the ordinary client subscribes`,
  async run(target) {
    const counts = new Counts();
    const sockets: { destroy(): void }[] = [];
    const end = performance.now() + target.seconds * 1_000;
    await times(SOCKETS, 32, async () => {
      const { socket, isOpen } = await openRaw(target.url, '/rpc/ws', target.key);
      counts.add(isOpen ? 'open' : 'refused');
      sockets.push(socket);
    });
    const isServed = await canSubscribe(target);
    await delay(Math.max(0, end - performance.now()));
    for (const socket of sockets) socket.destroy();
    return {
      operations: SOCKETS,
      counts: counts.counts,
      problems: problemsIf({
        'the ordinary client could not subscribe': !isServed,
        [`more than ${MAX_SOCKETS} sockets of one principal are open`]:
          counts.of('open') > MAX_SOCKETS,
      }),
    };
  },
};

export const manyMcpSessions: Attack = {
  about: 'thousands of MCP sessions of one principal',
  async run(target) {
    const { url, key, ordinaryKey } = target;
    const counts = new Counts();
    const agent = openAgent(16);
    const clientInfo = { name: 'abuse', version: '0' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const body = toBody('initialize', params);
    const own = await post(url, { key: ordinaryKey, body });
    await times(SESSIONS_PER_SECOND * target.seconds, 16, async () => {
      const { status } = await post(url, { key, body, agent });
      counts.add(`status_${status}`);
    });
    agent.destroy();
    const headers = { 'mcp-session-id': String(own.headers['mcp-session-id']) };
    const { status } = await post(url, { key: ordinaryKey, headers, body: toBody('ping', {}) });
    return {
      operations: counts.total,
      counts: counts.counts,
      problems: problemsIf({
        [`the ordinary client lost its session (${status})`]: status !== 200,
      }),
    };
  },
};

export const manySessions: Attack = {
  about: 'thousands of coordination sessions of one principal',
  run: (target) =>
    fillPlane(target, 'session_manager.create', () => ({ agent_id: 'hoarder', mode: 'cas' })),
};

export const manyRegistrations: Attack = {
  about: 'thousands of agent registrations of one principal',
  run: (target) =>
    fillPlane(target, 'agent_registry.register', (n) => ({
      agent_id: n === 0 ? 'newcomer' : `hoarder${n}`,
      capabilities: ['hoard'],
    })),
};

/** Index 0 is what the ordinary caller asks for in the end. */
async function fillPlane(target: Target, method: string, paramsOf: (n: number) => object) {
  const { url, key, ordinaryKey, seconds } = target;
  const counts = new Counts();
  const agent = openAgent(32);
  const count = Math.max(1, Math.round(seconds)) * 2_000;
  await times(count, 32, async (n) => {
    const said = await ask(url, key, method, paramsOf(n), agent);
    counts.add(said.result ? 'accepted' : String(said.error?.code ?? 'unanswered'));
  });
  agent.destroy();
  const own = paramsOf(0);
  const said = await ask(url, ordinaryKey, method, { ...own, ...newcomer(method) });
  return {
    operations: count,
    counts: counts.counts,
    problems: problemsIf({
      [`the ordinary client is refused ${method}`]: said.result === undefined,
      'one principal was never refused': counts.of('accepted') === count && count >= 10_000,
    }),
  };
}

function newcomer(method: string): object {
  return method.startsWith('session') ? { agent_id: 'ordinary' } : {};
}

/** A new connection of the ordinary caller subscribes to its session. */
async function canSubscribe({ url, ordinaryKey, session }: Target): Promise<boolean> {
  const headers = { authorization: `Bearer ${ordinaryKey}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/rpc/ws`, ['mcp'], { headers });
  let isSubscribed = false;
  let isOver = false;
  socket.on('error', () => {
    isOver = true;
  });
  socket.on('open', () => {
    const params = { session_id: session, agent_id: 'ordinary' };
    socket.send(toBody('context_coordinator.subscribe', params));
  });
  socket.on('message', (data) => {
    isSubscribed ||= String(data).includes('subscription_id');
    isOver ||= String(data).includes('"error"');
  });
  await comesTrue(() => isSubscribed || isOver, NEWCOMER_MS);
  socket.terminate();
  return isSubscribed;
}
