import { expect, it } from 'vitest';
import { settlesWithin } from '../src/index.ts';

it('says whether work ends in time, however it ends', async () => {
  expect(await settlesWithin(Promise.resolve(), 30_000)).toBe(true);
  expect(await settlesWithin(Promise.reject(new Error('no')), 30_000)).toBe(true);
  expect(await settlesWithin(new Promise(() => {}), 1)).toBe(false);
});
