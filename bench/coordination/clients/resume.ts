import { FabricError } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import { Connection, type GatewayAddress } from './connection.ts';
import { TEXT, toFrame } from './frames.ts';
import type { ResumeResult, ResumeWork } from './work.ts';
import { isDone, openWriter, type Writer } from './writer.ts';

const IN_FLIGHT = 64;
const LATEST_MS = 60_000;

interface Missed {
  readonly sessionId: string;
  /** Where the subscriber was when it left. */
  readonly after: number;
  readonly events: number;
}

/** Every missed event must come once and in order; anything else is a failure. */
export async function measureResume(work: ResumeWork): Promise<ResumeResult> {
  const { address, events, times } = work;
  using writer = await openWriter(address);
  const { sessionId } = writer;
  const { cursor } = await writer.connection.ask({
    method: 'context_coordinator.get',
    params: { session_id: sessionId },
  });
  await write(writer, events);
  const resumedMs: number[] = [];
  for (let count = 0; count < times; count += 1) {
    resumedMs.push(await resume(address, { sessionId, after: Number(cursor), events }));
  }
  return { resumedMs };
}

async function write({ connection, frames }: Writer, events: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (why: string) => reject(new FabricError('UPSTREAM_ERROR', why.slice(0, 500)));
  let sent = 0;
  let done = 0;
  const sendNext = () => {
    if (sent < events) connection.send(frames[sent % frames.length] ?? Buffer.alloc(0));
    sent += 1;
  };
  connection.onText = (payload) => {
    if (!isDone(payload)) return fail(payload.toString());
    done += 1;
    if (done === events) resolve();
    else sendNext();
  };
  connection.onLost = fail;
  for (let count = 0; count < IN_FLIGHT; count += 1) sendNext();
  await promise;
}

async function resume(address: GatewayAddress, missed: Missed): Promise<number> {
  const { sessionId: session_id, after, events } = missed;
  using connection = await Connection.open(address);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const fail = (why: string) => reject(new FabricError('UPSTREAM_ERROR', why.slice(0, 500)));
  let cursor = after;
  const startedAt = performance.now();
  connection.onText = (payload) => {
    if (isDone(payload)) return;
    cursor += 1;
    if (cursorOf(payload) !== cursor) return fail(`not event ${cursor}: ${payload}`);
    if (cursor === after + events) resolve(performance.now() - startedAt);
  };
  connection.onLost = fail;
  using deadline = deadlineSignal({ ms: LATEST_MS });
  deadline.signal.addEventListener('abort', () => fail(`stuck after event ${cursor}`));
  const params = { session_id, after };
  const request = { jsonrpc: '2.0', id: 1, method: 'context_coordinator.subscribe', params };
  connection.send(toFrame(TEXT, JSON.stringify(request)));
  return await promise;
}

const CURSOR = '"cursor":';

/** Only the updates of one writer are in the log, so cursors rise by one. */
function cursorOf(payload: Buffer): number {
  const at = payload.lastIndexOf(CURSOR);
  return at < 0 ? -1 : Number.parseInt(payload.toString('latin1', at + CURSOR.length), 10);
}
