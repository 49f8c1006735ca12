import { expect, it } from 'vitest';
import { giveMemoryBackWhenIdle } from '../src/idle-memory.ts';

const lookEveryMs = 20;

it('collects once after a busy time, and not while there is work', async () => {
  let collections = 0;
  using _ = giveMemoryBackWhenIdle({
    lookEveryMs,
    collect: () => {
      collections += 1;
    },
  });
  work(10 * lookEveryMs);
  expect(collections).toBe(0);
  await expect.poll(() => collections, { timeout: 10_000 }).toBe(1);
});

it('gives the memory of a large heap back', async () => {
  fill();
  const before = process.memoryUsage.rss();
  using _ = giveMemoryBackWhenIdle({ lookEveryMs });
  await expect
    .poll(() => before - process.memoryUsage.rss() > 30 * 1024 ** 2, { timeout: 20_000 })
    .toBe(true);
});

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function fill(): number {
  const rows = Array.from({ length: 1_000_000 }, (_, at) => ({ at, text: [at] }));
  return rows.length;
}
