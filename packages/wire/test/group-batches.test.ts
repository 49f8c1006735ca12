import { expect, it } from 'vitest';
import { GroupBatches } from '../src/index.ts';

it('runs what comes in during a batch as the next batch, at most so many at once', async () => {
  const batches: (readonly number[])[] = [];
  const doubled = new GroupBatches<number, number>(3, async (items) => {
    batches.push(items);
    return items.map((item) => 2 * item);
  });
  const first = [1, 2, 3, 4].map((item) => doubled.add(item));
  expect(doubled.waiting).toBe(4);
  expect(await Promise.all(first)).toEqual([2, 4, 6, 8]);
  await doubled.idle();
  expect(await doubled.add(5)).toBe(10);
  expect(batches).toEqual([[1, 2, 3], [4], [5]]);
});

it('fails the items of a batch that failed, and no others', async () => {
  const works = new GroupBatches<number, number>(1, async ([item = 0]) => {
    if (item === 1) throw new Error('refused');
    return [item];
  });
  const added = await Promise.allSettled([works.add(1), works.add(2)]);
  expect(added).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 2 }]);
});

it('lets others have their turn while the callers of a large batch go on, in order', async () => {
  const callers = 200;
  const batches = new GroupBatches<number, number>(callers, async (items) => items);
  const order: number[] = [];
  const turns: number[] = [0];
  const count = () => {
    turns.push(0);
    if (order.length < callers) setImmediate(count);
  };
  const added = Array.from({ length: callers }, async (_, item) => {
    order.push(await batches.add(item));
    turns.push((turns.pop() ?? 0) + 1);
    const end = performance.now() + 1;
    while (performance.now() < end);
  });
  setImmediate(count);
  await Promise.all(added);
  expect(order).toEqual([...Array(callers).keys()]);
  expect(Math.max(...turns)).toBeLessThan(callers / 4);
});
