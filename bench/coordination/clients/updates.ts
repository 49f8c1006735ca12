import { setTimeout as delay } from 'node:timers/promises';
import { cpuMicroseconds } from '../../process-usage.ts';
import type { UpdateSlice } from '../update-target.ts';
import type { UpdateWork } from './work.ts';
import { isDone, openWriter, type Writer } from './writer.ts';

/** The next update of a writer goes out when the last is answered. */
export async function measureUpdates(work: UpdateWork): Promise<UpdateSlice> {
  const { address, connections, rampMs, measureMs, pid } = work;
  using opened = new DisposableStack();
  const counter = new Counter();
  for (let count = 0; count < connections; count += 1) {
    const writer = opened.use(await openWriter(address));
    keepBusy(writer, counter);
  }
  await delay(rampMs);
  const before = look(pid);
  const first = counter.updates;
  await Promise.race([delay(measureMs), counter.failed]);
  const after = look(pid);
  const cpu = after.cpu === undefined ? undefined : after.cpu - (before.cpu ?? 0);
  return {
    updates: counter.updates - first,
    seconds: (after.at - before.at) / 1000,
    cpuMicroseconds: cpu,
    failure: counter.failure,
  };
}

class Counter {
  updates = 0;
  failure: string | undefined;
  readonly #failed = Promise.withResolvers<void>();
  readonly failed = this.#failed.promise;

  fail(failure: string): void {
    this.failure ??= failure.slice(0, 500);
    this.#failed.resolve();
  }
}

function keepBusy({ connection, frames }: Writer, counter: Counter): void {
  let turn = 0;
  const sendNext = () => {
    connection.send(frames[turn % frames.length] ?? Buffer.alloc(0));
    turn += 1;
  };
  connection.onText = (payload) => {
    if (!isDone(payload)) return counter.fail(payload.toString());
    counter.updates += 1;
    sendNext();
  };
  connection.onLost = (why) => counter.fail(why);
  sendNext();
}

function look(pid: number) {
  return { at: performance.now(), cpu: cpuMicroseconds(pid) };
}
