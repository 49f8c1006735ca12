import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import { cpuMicroseconds } from '../../process-usage.ts';
import { VALUE } from '../plan.ts';
import { Connection } from './connection.ts';
import { TEXT, toFrame } from './frames.ts';
import type { FanOutResult, FanOutWork } from './work.ts';
import { isDone, openWriter, type Writer } from './writer.ts';

/** Between updates, so that each finds a gateway that has nothing else to do. */
const GAP_MS = 10;
const WARM_UP = 5;
const LATEST_MS = 20_000;
const OPENED_AT_ONCE = 50;

/** Every subscriber must get each update once and in order; anything else is a failure. */
export async function measureFanOut(work: FanOutWork): Promise<FanOutResult> {
  const { address, subscribers, measureMs, pid } = work;
  using opened = new DisposableStack();
  const writer = opened.use(await openWriter(address));
  const connections: Connection[] = [];
  const subscribe = async () => {
    const connection = opened.use(await Connection.open(address));
    const params = { session_id: writer.sessionId };
    await connection.ask({ method: 'context_coordinator.subscribe', params });
    connections.push(connection);
  };
  while (connections.length < subscribers) {
    const missing = Math.min(OPENED_AT_ONCE, subscribers - connections.length);
    await Promise.all(Array.from({ length: missing }, subscribe));
  }
  for (let turn = 0; turn < WARM_UP; turn += 1) await deliver(turn, writer, connections);
  const lastDeliveriesMs: number[] = [];
  const cpuBefore = cpuMicroseconds(pid);
  const startedAt = performance.now();
  do {
    const turn = WARM_UP + lastDeliveriesMs.length;
    lastDeliveriesMs.push(await deliver(turn, writer, connections));
    await delay(GAP_MS);
  } while (performance.now() - startedAt < measureMs);
  const cpuAfter = cpuMicroseconds(pid);
  const cpu = cpuAfter === undefined ? undefined : cpuAfter - (cpuBefore ?? 0);
  return { lastDeliveriesMs, cpuMicroseconds: cpu };
}

async function deliver(
  turn: number,
  { connection, sessionId: session_id, lockToken: lock_token }: Writer,
  subscribers: readonly Connection[],
): Promise<number> {
  const marker = `"turn":${turn},`;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const fail = (why: string) => reject(new FabricError('UPSTREAM_ERROR', why.slice(0, 500)));
  let missing = subscribers.length + 1;
  let startedAt = 0;
  const arrive = (isRight: boolean, payload: Buffer) => {
    if (!isRight) return fail(`not what update ${turn} should bring: ${payload}`);
    missing -= 1;
    if (missing === 0) resolve(performance.now() - startedAt);
  };
  for (const subscriber of subscribers) {
    subscriber.onText = (payload) => arrive(payload.includes(marker), payload);
    subscriber.onLost = fail;
  }
  connection.onText = (payload) => arrive(isDone(payload), payload);
  connection.onLost = fail;
  const params = { session_id, lock_token, update: { report: { turn, ...VALUE } } };
  const request = { jsonrpc: '2.0', id: turn, method: 'context_coordinator.update', params };
  const frame = toFrame(TEXT, JSON.stringify(request));
  using deadline = deadlineSignal({ ms: LATEST_MS });
  deadline.signal.addEventListener('abort', () => fail(`update ${turn}: ${missing} never came`));
  startedAt = performance.now();
  connection.send(frame);
  return await promise;
}
