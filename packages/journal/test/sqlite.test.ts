import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Journal, Log } from '@starloom/core';
import { silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openJournal } from '../src/index.ts';
import { call, journalContract } from './contract/journal-contract.ts';

describe('the journal in SQLite', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let number = 0;
  const newPath = () => {
    number += 1;
    return join(folder.path, String(number), 'journal.sqlite');
  };
  const open = (path: string, calls = 1_000, log: Log = silentLog) =>
    openJournal({ kind: 'sqlite', path }, { calls, gateway: 'node-a', log });
  const callsOf = async (journal: Journal) => (await journal.list({}, { limit: 100 })).calls;

  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(() => folder[Symbol.asyncDispose]());

  journalContract((calls) => open(newPath(), calls));

  it('keeps calls over a restart, and ends those that the gateway left running', async () => {
    const path = newPath();
    const first = await open(path);
    const ended = call();
    const running = call({ ended_at: null, ms: null });
    first.write(ended);
    first.write(running);
    await first.close();
    const second = await open(path);
    await second.flushed();
    const [left, kept] = await callsOf(second);
    expect(kept).toEqual(ended);
    expect(left).toMatchObject({ span_id: running.span_id, code: 'CANCELLED' });
    expect(left?.ended_at).not.toBeNull();
    await second.close();
  });

  it('sets a damaged file aside, says so and begins a new one', async () => {
    for (const damage of ['not a database '.repeat(1_000), '']) {
      const path = newPath();
      const first = await open(path);
      for (let left = 50; left > 0; left -= 1) first.write(call());
      await first.close();
      if (damage !== '') await writeFile(path, damage);
      else {
        const database = new DatabaseSync(path);
        database.exec('PRAGMA user_version = 0');
        database.close();
      }
      const notes: unknown[] = [];
      const log: Log = { ...silentLog, warn: (fields) => notes.push(fields) };
      const second = await open(path, 1_000, log);
      second.write(call());
      await second.flushed();
      expect(await callsOf(second)).toHaveLength(1);
      expect(notes).toMatchObject([{ moved_to: `${path}.damaged` }]);
      expect((await stat(`${path}.damaged`)).size).toBeGreaterThan(0);
      await second.close();
    }
  });

  it('refuses a file of a newer version, leaves it as it is and goes on without', async () => {
    const path = newPath();
    const first = await open(path);
    first.write(call());
    await first.close();
    const database = new DatabaseSync(path);
    database.exec('PRAGMA user_version = 99');
    database.close();
    const second = await open(path);
    second.write(call());
    await second.flushed();
    await expect(second.check()).rejects.toMatchObject({ details: { reason: 'newer_store' } });
    await second.close();
    const left = new DatabaseSync(path);
    expect(left.prepare('SELECT count(*) AS n FROM call').get()).toEqual({ n: 1 });
    left.close();
  });

  it('loses calls while another process holds the file, and takes them again after that', async () => {
    const path = newPath();
    const first = await open(path);
    first.write(call());
    await first.flushed();
    const notes: string[] = [];
    const note = (_: unknown, message: string) => notes.push(message);
    const second = await open(path, 1_000, { ...silentLog, warn: note, info: note });
    second.write(call());
    await second.flushed();
    await expect(second.check()).rejects.toMatchObject({ details: { reason: 'in_use' } });
    await first.close();
    await expect
      .poll(
        async () => {
          second.write(call());
          await second.flushed();
          return await second.check().catch(() => undefined);
        },
        { timeout: 20_000 },
      )
      .toMatchObject({ calls: 2 });
    expect(notes.at(-1)).toBe('the journal takes calls again');
    await second.close();
  });

  it('takes no more disk however many calls pass through it', async () => {
    const path = newPath();
    const journal = await open(path, 500);
    const write = async (count: number) => {
      for (let left = count; left > 0; left -= 1) journal.write(call());
      await journal.flushed();
      return (await stat(path)).size;
    };
    await write(10_000);
    const before = await write(10_000);
    expect(await write(20_000)).toBeLessThanOrEqual(before * 1.1);
    await journal.close();
  });

  it('leaves nothing of an erased principal in its files', async () => {
    const path = newPath();
    const journal = await open(path);
    for (let left = 300; left > 0; left -= 1) journal.write(call({ principal: 'mallory-7' }));
    await journal.flushed();
    expect(await journal.erase('mallory-7')).toBe(300);
    await journal.close();
    expect((await readFile(path)).includes('mallory-7')).toBe(false);
  });
});
