import { expect, it } from 'vitest';
import { WorkTurns } from '../src/with-lock.ts';

const LONG_MS = 60_000;

it('lets works of one name in one after the other, as they came', async () => {
  const { turns, entered, leave, ask } = begin();
  for (const who of ['a', 'b', 'c']) void ask(who, { isShared: false });
  await expect.poll(() => entered).toEqual(['a']);
  leave('a');
  await expect.poll(() => entered).toEqual(['a', 'b']);
  expect(await turns.take({ name: 'another', isShared: false, waitMs: 0 })).toBeDefined();
  leave('b');
  await expect.poll(() => entered).toEqual(['a', 'b', 'c']);
});

it('admits shared works together, but none past a waiting exclusive one', async () => {
  const { entered, leave, ask } = begin();
  for (const who of ['a', 'b']) void ask(who, { isShared: true });
  void ask('alone', { isShared: false });
  for (const who of ['c', 'd']) void ask(who, { isShared: true });
  await expect.poll(() => entered).toEqual(['a', 'b']);
  leave('b');
  leave('a');
  await expect.poll(() => entered).toEqual(['a', 'b', 'alone']);
  leave('alone');
  await expect.poll(() => entered).toEqual(['a', 'b', 'alone', 'c', 'd']);
});

it('does not wait for longer than asked, and blocks no other work afterwards', async () => {
  const { turns, entered, ask } = begin();
  void ask('a', { isShared: true });
  expect(await turns.take({ name: 'x', isShared: false, waitMs: 0 })).toBeUndefined();
  const waiting = turns.take({ name: 'x', isShared: false, waitMs: 20 });
  void ask('b', { isShared: true });
  expect(entered).not.toContain('b');
  expect(await waiting).toBeUndefined();
  await expect.poll(() => entered).toEqual(['a', 'b']);
});

it('refuses all who wait, and who comes later, when it is closed', async () => {
  const { turns, leave, ask } = begin();
  void ask('a', { isShared: false });
  const waiting = turns.take({ name: 'x', isShared: false, waitMs: LONG_MS });
  const reason = new Error('closed');
  turns.close(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(turns.take({ name: 'y', isShared: false, waitMs: 0 })).rejects.toBe(reason);
  leave('a');
});

function begin() {
  const turns = new WorkTurns();
  const inside = new Map<string, Disposable>();
  const entered: string[] = [];
  const ask = async (who: string, { isShared }: { readonly isShared: boolean }) => {
    const turn = await turns.take({ name: 'x', isShared, waitMs: LONG_MS });
    if (turn === undefined) return;
    inside.set(who, turn);
    entered.push(who);
  };
  const leave = (who: string) => inside.get(who)?.[Symbol.dispose]();
  return { turns, entered, leave, ask };
}
