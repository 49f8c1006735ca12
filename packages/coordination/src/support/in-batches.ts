import { streamTurns } from '@starloom/wire';

const AT_ONCE = 32;

/**
 * Does the work for every item, a few at once, and keeps the order of the results. Other work goes on
 * between two batches.
 */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    if (start > 0) await streamTurns.enter();
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))));
  }
  return results;
}
