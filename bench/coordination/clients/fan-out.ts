import { setTimeout as delay } from 'node:timers/promises';
import { cpuMicroseconds } from '../../process-usage.ts';
import { VALUE } from '../plan.ts';
import { Audience } from './audience.ts';
import { Connection } from './connection.ts';
import { TEXT, toFrame } from './frames.ts';
import type { FanOutResult, FanOutWork } from './work.ts';
import { isDone, openWriter, type Writer } from './writer.ts';

/** Between updates, so that each finds a gateway that has nothing else to do. */
const GAP_MS = 10;
const OPENED_AT_ONCE = 50;

/** Every subscriber must get each update once and in order; anything else is a failure. */
export async function measureFanOut(work: FanOutWork): Promise<FanOutResult> {
  const { address, subscribers, rampMs, measureMs, pid } = work;
  using opened = new DisposableStack();
  const writer = opened.use(await openWriter(address));
  const audience = new Audience();
  audience.add(writer.connection, isDone);
  const subscribe = async () => {
    const connection = opened.use(await Connection.open(address));
    const params = { session_id: writer.sessionId };
    await connection.ask({ method: 'context_coordinator.subscribe', params });
    audience.add(connection);
  };
  while (audience.size <= subscribers) {
    const missing = Math.min(OPENED_AT_ONCE, 1 + subscribers - audience.size);
    await Promise.all(Array.from({ length: missing }, subscribe));
  }
  let turn = 0;
  const deliverFor = async (ms: number) => {
    const deliveriesMs: number[] = [];
    const startedAt = performance.now();
    do {
      deliveriesMs.push(await deliver(turn, writer, audience));
      turn += 1;
      await delay(GAP_MS);
    } while (performance.now() - startedAt < ms);
    return deliveriesMs;
  };
  await deliverFor(rampMs);
  const cpuBefore = cpuMicroseconds(pid);
  const lastDeliveriesMs = await deliverFor(measureMs);
  const cpuAfter = cpuMicroseconds(pid);
  const cpu = cpuAfter === undefined ? undefined : cpuAfter - (cpuBefore ?? 0);
  return { lastDeliveriesMs, cpuMicroseconds: cpu };
}

/** How long it took until the last had it. */
async function deliver(turn: number, writer: Writer, audience: Audience): Promise<number> {
  const frame = toUpdate(turn, writer);
  const marker = `"turn":${turn},`;
  const isRight = (payload: Buffer) => payload.includes(marker);
  let startedAt = 0;
  await audience.hear({ number: turn, isRight }, () => {
    startedAt = performance.now();
    writer.connection.send(frame);
  });
  return performance.now() - startedAt;
}

function toUpdate(turn: number, { sessionId, lockToken }: Writer): Buffer {
  const update = { report: { turn, ...VALUE } };
  const params = { session_id: sessionId, lock_token: lockToken, update };
  const request = { jsonrpc: '2.0', id: turn, method: 'context_coordinator.update', params };
  return toFrame(TEXT, JSON.stringify(request));
}
