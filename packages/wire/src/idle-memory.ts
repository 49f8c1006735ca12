// After a busy time V8 keeps the pages of its young generation and what its compiler threads freed, for
// work that may never come: about 100 MB of a gateway. One collection once it is quiet gives them back to the
// system. Code has to be compiled again after that, so a short pause between calls is not enough.

import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 20_000;
/** Parts of the time that the event loop works. */
const BUSY = 0.05;
const QUIET = 0.01;

/** Not part of the types: the flavour that gives back all it can. */
type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void;

export interface IdleMemoryOptions {
  readonly lookEveryMs?: number;
  readonly collect?: () => void;
}

/** Until it is disposed of. Costs nothing while there is work. */
export function giveMemoryBackWhenIdle(options: IdleMemoryOptions = {}): Disposable {
  const { lookEveryMs = LOOK_EVERY_MS, collect = collector() } = options;
  let before = performance.eventLoopUtilization();
  let wasBusy = true;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > BUSY) wasBusy = true;
    if (utilization > QUIET || !wasBusy) return;
    wasBusy = false;
    collect();
    // Its own work does not count.
    before = performance.eventLoopUtilization();
  }, lookEveryMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function collector(): () => void {
  // Freed by the thread that compiled, the memory of a finished compilation stays in that thread's arena.
  setFlagsFromString('--no-maglev-destroy-on-background');
  setFlagsFromString('--expose-gc');
  const collect: Collect = runInNewContext('gc');
  return () => collect({ type: 'major', flavor: 'last-resort' });
}
