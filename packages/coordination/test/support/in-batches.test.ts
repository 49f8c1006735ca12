import { expect, it } from 'vitest';
import { inBatches } from '../../src/support/in-batches.ts';

it('lets other work go on between two batches', async () => {
  let isOver = false;
  const other = new Promise<boolean>((resolve) => setImmediate(() => resolve(isOver)));
  const items = Array.from({ length: 100 }, (_, index) => index);
  const results = await inBatches(items, async (item) => {
    for (const end = performance.now() + 0.2; performance.now() < end; );
    return item;
  });
  isOver = true;
  expect(results).toEqual(items);
  expect(await other).toBe(false);
});
