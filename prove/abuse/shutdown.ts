// SIGTERM while calls are in flight over HTTP and WebSocket: every call that was accepted is answered.

import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { quantile } from '../../bench/statistics.ts';
import { Counts, comesTrue, problemsIf } from './attack.ts';
import type { AttackResult } from './campaign.ts';
import { GatewayProbe } from './gateway-probe.ts';
import { openAgent, post, readCalled, toBody, toolCall } from './http-client.ts';
import { type Observed, OrdinaryClient, toObserved } from './ordinary-client.ts';
import { openWorld, type World } from './world.ts';

export const SHUTDOWN = 'shutdown';

const CALLS = 50;
const ANSWER_MS = 30_000;
const WAITING = { agent_id: 'slow', capability: 'wait', timeout_ms: 20_000 };

export async function runShutdown(signal: AbortSignal): Promise<AttackResult> {
  await using world = await openWorld(signal);
  await world.useAgents(['slow']);
  await using ordinary = await OrdinaryClient.open({
    url: world.url,
    key: world.ordinaryKey,
    agentUrl: world.agentUrl,
    folder: world.gateway.folder,
  });
  using memory = new GatewayProbe(world.gateway);
  const before = await memory.settled();
  const quiet = toObserved([await ordinary.observe(delay(1_000, undefined, { signal }))]);
  const counts = new Counts();
  const times: number[] = [];
  const begun = performance.now();
  const note = (kind: string, ok: boolean) => {
    counts.add(`${kind}_${ok ? 'answered' : 'lost'}`);
    times.push(performance.now() - begun);
  };
  const calling = [callOverHttp(world, note), ...(await callOverWebSocket(world, note))];
  await delay(1_000, undefined, { signal });
  const code = await world.gateway.stop();
  await Promise.all(calling);
  const peak = memory.takePeak();
  const lost = counts.of('http_lost') + counts.of('websocket_lost');
  const calls = {
    sent: times.length,
    ok: times.length - lost,
    stolen: 0,
    p50: quantile(times, 0.5) ?? 0,
    p99: quantile(times, 0.99) ?? 0,
  };
  const during: Observed = { ...toObserved([]), calls };
  return {
    name: SHUTDOWN,
    about: 'SIGTERM with calls in flight over HTTP and WebSocket, each of four seconds',
    operations: times.length,
    counts: { ...counts.counts, exit_code: code ?? -1 },
    quiet,
    first: during,
    during,
    memory: { before, peak, after: { resident: 0, live: 0 } },
    rounds: [],
    problems: problemsIf({
      [`${lost} of ${times.length} calls in flight were not answered`]: lost > 0,
      'no call was in flight': times.length === 0,
      [`the gateway ended with ${code}`]: code !== 0,
    }),
  };
}

type Note = (kind: string, ok: boolean) => void;

async function callOverHttp({ url, ordinaryKey: key }: World, note: Note): Promise<void> {
  const agent = openAgent(CALLS);
  const body = toolCall('fabric.call', WAITING);
  const call = async () => {
    const called = readCalled(await post(url, { key, body, agent, timeoutMs: ANSWER_MS }));
    note('http', called?.result?.answer === 'late');
  };
  await Promise.all(Array.from({ length: CALLS }, call));
  agent.destroy();
}

/** Resolves when the calls were sent, with the promise that they are over. */
async function callOverWebSocket({ url, ordinaryKey }: World, note: Note) {
  const headers = { authorization: `Bearer ${ordinaryKey}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], { headers });
  const answered = new Set<unknown>();
  let isReady = false;
  let isOver = false;
  socket.on('message', (data) => {
    const { id, result } = JSON.parse(String(data));
    if (id === 'hello') isReady = true;
    else if (result?.structuredContent?.result?.answer === 'late') answered.add(id);
  });
  socket.on('close', () => {
    isOver = true;
  });
  socket.on('error', () => {});
  const clientInfo = { name: 'abuse', version: '0' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  socket.on('open', () => socket.send(toBody('initialize', params, 'hello')));
  await comesTrue(() => isReady || isOver, ANSWER_MS);
  const call = { name: 'fabric.call', arguments: WAITING };
  for (let n = 0; n < CALLS; n += 1) socket.send(toBody('tools/call', call, n));
  const over = async () => {
    await comesTrue(() => isOver || answered.size === CALLS, ANSWER_MS);
    for (let n = 0; n < CALLS; n += 1) note('websocket', answered.has(n));
    socket.terminate();
  };
  return [over()];
}
