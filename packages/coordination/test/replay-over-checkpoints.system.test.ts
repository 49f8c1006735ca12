import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { count, numberIn, openWorld, rows } from './fixtures/embedded-world.ts';

const WRITER = fileURLToPath(new URL('fixtures/checkpoint-writer.ts', import.meta.url));
const NAMES = Array.from({ length: 12 }, (_, n) => `p${n}`);

/** How far every partition had counted when the writer was gone, `rounds` after its first. */
async function dieAfter(rounds: number, path: string, entries: number): Promise<number> {
  const args = ['--conditions=@starloom/source', WRITER, path, `${rounds}`, `${entries}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(signal).toBe('SIGKILL');
  return Number(said);
}

const COMPLETE = 'SELECT count(*) FROM snapshot WHERE is_last = 1';

describe.each([
  ['of one entry', 1],
  ['of entries in many parts', 30],
])('a process that dies while its log is replaced by snapshots %s', (_, entries) => {
  it.each([0, 1, 2, 5, 12])('has each operation applied once, %i rounds on', async (rounds) => {
    await using world = await openWorld();
    const answered = await dieAfter(rounds, world.path, entries);
    expect(rows(world.path, 'snapshot')).toBeGreaterThan(0);
    if (rounds < 2) {
      expect(numberIn(world.path, COMPLETE)).toBeLessThan(NAMES.length);
      expect(rows(world.path, 'log')).toBe(NAMES.length * (rounds + 2));
    }
    const store = await world.open();
    const counts = async () => {
      const snapshots = await Promise.all(NAMES.map((name) => store.read(name, ['n'])));
      return snapshots.map(({ version, entries }) => [version, entries.get('n')?.value]);
    };
    expect(await counts()).toEqual(NAMES.map(() => [answered + 1, answered]));
    for (const name of NAMES) await count(store, name);
    expect(await counts()).toEqual(NAMES.map(() => [answered + 2, answered + 1]));
    await store.close();
  });
});
