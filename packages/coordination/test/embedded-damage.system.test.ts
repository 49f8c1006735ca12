import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { FabricError, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { change, count, leaveBehind, openWorld, rows } from './fixtures/embedded-world.ts';

function flipped(wal: Buffer): Buffer {
  const copy = Buffer.from(wal);
  const middle = Math.floor(copy.length / 2);
  copy[middle] = (copy[middle] ?? 0) ^ 1;
  return copy;
}

describe('a damaged file', () => {
  it('loses what was torn off its end, and nothing before', async () => {
    await using world = await openWorld();
    await using copy = await openWorld();
    const store = await world.open();
    for (let n = 0; n < 50; n += 1) await count(store);
    await copyFile(world.path, copy.path);
    await copyFile(`${world.path}-wal`, `${copy.path}-wal`);
    await store.close();
    const { size } = await stat(`${copy.path}-wal`);
    await truncate(`${copy.path}-wal`, size - 5_000);
    await appendFile(`${copy.path}-wal`, 'not a page');
    const torn = await copy.open();
    const { version, entries } = await torn.read('p');
    expect(version).toBeGreaterThan(40);
    expect(version).toBeLessThan(50);
    expect(entries.get('n')?.value).toBe(version);
    expect(await count(torn)).toEqual({ ok: true, version: version + 1 });
    await torn.close();
  });

  it.each<[string, (wal: Buffer) => Buffer]>([
    ['a bit flipped in the middle', flipped],
    ['the end cut off', (wal) => wal.subarray(0, wal.length - 5_000)],
    ['all of it gone', () => Buffer.alloc(0)],
  ])('says which acknowledged records are lost with the log of SQLite: %s', async (_, damage) => {
    await using world = await openWorld();
    await using copy = await openWorld();
    const store = await world.open();
    for (let n = 0; n < 50; n += 1) await count(store);
    await store.commit('p', { writes: [{ kind: 'put', key: 'head', value: 'x' }] });
    await leaveBehind(world.path, copy.path);
    await copyFile(`${world.path}-mark`, `${copy.path}-mark`);
    await store.close();
    await writeFile(`${copy.path}-wal`, damage(await readFile(`${copy.path}-wal`)));
    const lines: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void lines.push(fields) };
    const damaged = await copy.open({ log });
    expect(lines).toMatchObject([{ path: copy.path, missing: { last: 51 } }]);
    expect(await damaged.check()).toMatchObject([{ problem: expect.stringContaining('51') }]);
    const { version } = await damaged.read('p');
    expect(version === 0 || version > 51).toBe(true);
    expect(await damaged.events('p', 51, 10)).toMatchObject({ gap: true });
    expect(await damaged.events('p', 10, 10)).toMatchObject({ gap: true });
    await count(damaged);
    await damaged.close();
    const again = await copy.open({ log });
    expect(lines).toHaveLength(1);
    expect(await again.check()).toEqual([]);
    await again.close();
  });

  it('says nothing of losses after kill -9, whatever was not acknowledged', async () => {
    await using world = await openWorld();
    await using copy = await openWorld();
    const store = await world.open();
    for (let n = 0; n < 50; n += 1) await count(store);
    await copyFile(`${world.path}-mark`, `${copy.path}-mark`);
    await leaveBehind(world.path, copy.path);
    await store.close();
    const lines: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void lines.push(fields) };
    const left = await copy.open({ log });
    expect(lines).toEqual([]);
    expect((await left.read('p')).version).toBe(50);
    await left.close();
  });

  it('drops a last record that cannot be read, and says so', async () => {
    const lines: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
    await using world = await openWorld({ log });
    const store = await world.open();
    for (let n = 0; n < 5; n += 1) await count(store);
    await store.close();
    change(world.path, "UPDATE log SET record = replace(record, 'by', 'yb') WHERE sequence = 5");
    const opened = await world.open();
    const { version, entries } = await opened.read('p');
    expect(entries.get('n')?.value).toBe(4);
    expect(version).toBeGreaterThan(5);
    expect(lines).toEqual([{ path: world.path, records: 1 }]);
    expect(await count(opened)).toEqual({ ok: true, version: version + 1 });
    await opened.close();
    await (await world.open()).close();
    expect(lines).toHaveLength(1);
  });

  it.each([
    ['a record amid others', "UPDATE log SET record = '[]' WHERE sequence = 3"],
    ['a record missing', 'DELETE FROM log WHERE sequence = 3'],
    ['the first record missing', 'DELETE FROM log WHERE sequence = 1'],
  ])('is refused with %s damaged, and left as it is', async (_, statement) => {
    await using world = await openWorld();
    const store = await world.open();
    for (let n = 0; n < 5; n += 1) await count(store);
    await store.close();
    change(world.path, statement);
    const left = rows(world.path, 'log');
    await expect(world.open()).rejects.toMatchObject({ details: { reason: 'corrupt_store' } });
    expect(rows(world.path, 'log')).toBe(left);
  });

  it('is refused when it is something else', async () => {
    await using world = await openWorld();
    await writeFile(world.path, 'dear diary, '.repeat(1000));
    await expect(world.open()).rejects.toMatchObject({ details: { reason: 'not_a_store' } });
    expect(await readFile(world.path, 'utf8')).toMatch(/^dear diary/);
    await using other = await openWorld();
    change(other.path, 'CREATE TABLE somebody_elses (id INTEGER)');
    await expect(other.open()).rejects.toMatchObject({ details: { reason: 'not_a_store' } });
  });

  it('is refused when a newer version wrote it', async () => {
    await using world = await openWorld();
    await (await world.open()).close();
    change(world.path, 'PRAGMA user_version = 99');
    await expect(world.open()).rejects.toMatchObject({ details: { reason: 'newer_store' } });
  });
});

describe('a full disk', () => {
  it('fails what could not be written, and everything after, by a typed error', async () => {
    await using world = await openWorld();
    await (await world.open()).close();
    change(
      world.path,
      "CREATE TRIGGER full BEFORE INSERT ON log WHEN NEW.sequence > 3 BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    const store = await world.open();
    for (let n = 0; n < 3; n += 1) expect(await count(store)).toMatchObject({ ok: true });
    const failed = { code: 'OVERLOADED', details: { reason: 'engine_unavailable' } };
    const results = await Promise.allSettled([count(store), count(store), store.read('p')]);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: failed });
    }
    await expect(store.read('p')).rejects.toSatisfy(FabricError.is);
    await store.close();
  });
});

describe('kill -9', () => {
  const WRITER = fileURLToPath(new URL('fixtures/embedded-writer.ts', import.meta.url));

  it('loses nothing that was acknowledged, and nothing that was seen', async () => {
    await using world = await openWorld();
    let acknowledged = 0;
    for (const lines of [20, 200, 2000]) {
      const args = ['--conditions=@starloom/source', WRITER, world.path];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const exited = once(child, 'exit');
      let left = lines;
      for await (const line of createInterface(child.stdout)) {
        acknowledged = Math.max(acknowledged, Number(line));
        left -= 1;
        if (left > 0) continue;
        if (left === 0) await expect(world.open()).rejects.toMatchObject({ code: 'BAD_INPUT' });
        child.kill('SIGKILL');
      }
      await exited;
      const store = await openEmbeddedStore({ path: world.path, log: silentLog });
      const { version, entries } = await store.read('p');
      expect(version).toBeGreaterThanOrEqual(acknowledged);
      expect(entries.get('n')?.value ?? 0).toBe(version);
      await store.close();
    }
  });
});
