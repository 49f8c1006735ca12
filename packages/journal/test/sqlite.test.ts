import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Journal, JournalCall, Log } from '@starloom/core';
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

  it('opens a file of the first format, and goes on after its calls', async () => {
    const path = newPath();
    const [old, running] = [call(), call({ ended_at: null, ms: null })];
    await writeFirstFormat(path, [old, running]);
    const journal = await open(path);
    const { cursor } = await journal.list({}, { limit: 10 });
    const [ended, other] = [{ ...running, ended_at: 2, ms: 1 }, call()];
    for (const one of [ended, other]) journal.write(one);
    await journal.flushed();
    expect((await journal.list({}, { limit: 10, after: cursor })).calls).toContainEqual(other);
    const calls = await callsOf(journal);
    expect(calls[0]).toEqual(other);
    expect(calls.at(-1)).toEqual(old);
    expect(await journal.get(running.trace_id)).not.toContainEqual(running);
    await journal.close();
  });

  it('opens a file of the second format, whose blocks have no kinds', async () => {
    const path = newPath();
    const first = await open(path);
    first.write(call());
    await first.close();
    const database = new DatabaseSync(path);
    const list = `["0c634bb1-3437-4c7e-a0b2-4d585a12fb67","47008d13-3766-4bcb-9761-89ccda33d62a",null,"node-a","mcp",
      "http","fabric.call","alice",null,null,2,["a/b"],"percy","reason",null,null,false,0.153,0.231,
      [["percy","local","primary","ready","asked for"]],null,"rule",null,
      [["6585df5d-95bf-408a-8efc-371d3ef163e5","percy","local","mcp",false,0.25,1.23,null,null,true]],
      false,{"final":1},[["final",1.5]],3,70,120,1000,1002,1.6,null,null,null,null,null]`;
    database.exec('PRAGMA user_version = 2');
    database.prepare('INSERT INTO block VALUES (2, 1, ?)').run(`[${list}]`);
    database.close();
    const second = await open(path);
    const [found] = await second.get('0c634bb1-3437-4c7e-a0b2-4d585a12fb67');
    expect(found).toEqual({
      ...{ trace_id: '0c634bb1-3437-4c7e-a0b2-4d585a12fb67', parent_span_id: null },
      ...{ span_id: '47008d13-3766-4bcb-9761-89ccda33d62a', gateway: 'node-a', face: 'mcp' },
      ...{ transport: 'http', tool: 'fabric.call', principal: 'alice', depth: 2, chain: ['a/b'] },
      ...{ agent_id: 'percy', capability: 'reason', stream: false },
      ...{ admitted_ms: 0.153, routed_ms: 0.231, rule: 'rule', fallback: false, cost: 3 },
      route: [
        {
          ...{ agent_id: 'percy', node_id: 'local', kind: 'primary' },
          ...{ availability: 'ready', reason: 'asked for' },
        },
      ],
      attempts: [
        {
          ...{ span_id: '6585df5d-95bf-408a-8efc-371d3ef163e5', agent_id: 'percy' },
          ...{ node_id: 'local', protocol: 'mcp', fallback: false, began_ms: 0.25, ms: 1.23 },
          ...{ code: null, sent: true },
        },
      ],
      ...{ events: { final: 1 }, first_events: [['final', 1.5]], bytes_in: 70, bytes_out: 120 },
      ...{ began_at: 1000, ended_at: 1002, ms: 1.6, code: null },
    });
    await second.close();
  });

  it('keeps apart calls of a batch that differ in what their kind has', async () => {
    const path = newPath();
    const journal = await open(path);
    const given = Array.from({ length: 90 }, (_, at) =>
      call({
        tool: `tool-${at % 7}`,
        principal: at % 3 === 0 ? null : `caller-${at % 5}`,
        chain: at % 2 === 0 ? [] : ['a/b'],
        ...(at % 4 === 0 && { cost: at, rule: 'a rule' }),
      }),
    );
    for (const one of given) journal.write(one);
    await journal.flushed();
    expect((await journal.list({}, { limit: 100 })).calls).toEqual(given.toReversed());
    await journal.close();
  });

  it('keeps its numbers when everything left it', async () => {
    const path = newPath();
    const first = await open(path);
    for (let left = 300; left > 0; left -= 1) first.write(call());
    await first.flushed();
    const { cursor } = await first.list({}, { limit: 1 });
    await first.erase('alice');
    await first.close();
    const second = await open(path);
    second.write(call());
    await second.flushed();
    expect((await second.list({}, { limit: 10, after: cursor })).calls).toHaveLength(1);
    await second.close();
  });

  it('keeps a batch over a restart, and ends a call that began in one and ended apart', async () => {
    const path = newPath();
    const running = call({ ended_at: null, ms: null });
    const batch = [...Array.from({ length: 200 }, () => call()), running];
    const first = await open(path);
    for (const one of batch) first.write(one);
    await first.flushed();
    const ended = { ...running, ended_at: running.began_at + 5, ms: 5 };
    first.write(ended);
    await first.close();
    const second = await open(path);
    const { calls } = await second.list({}, { limit: 500 });
    expect(calls).toEqual([ended, ...batch.slice(0, -1).toReversed()]);
    await second.close();
  });

  it('answers a reader that waits when it closes', async () => {
    const journal = await open(newPath(), 20_000);
    const [first, ...more] = Array.from({ length: 20_000 }, () => call());
    for (const one of [first, ...more]) journal.write(one as JournalCall);
    await journal.flushed();
    const reading = journal.get(String(first?.trace_id));
    await journal.close();
    expect(await reading).toEqual([first]);
  });

  it('sets a damaged file aside, says so and begins a new one', async () => {
    const damages = ['PRAGMA user_version = 0', "UPDATE block SET text = '[['"];
    for (const damage of ['not a database '.repeat(1_000), ...damages]) {
      const path = newPath();
      const first = await open(path);
      for (let left = 50; left > 0; left -= 1) first.write(call());
      await first.close();
      if (!damages.includes(damage)) await writeFile(path, damage);
      else {
        const database = new DatabaseSync(path);
        database.exec(damage);
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
      for (let left = count; left > 0; left -= 1) {
        journal.write(call());
        if (left % 500 === 0) await journal.flushed();
        if (left % 5_000 === 0) await journal.list({}, { limit: 1 });
      }
      return (await stat(path)).size;
    };
    await write(20_000);
    const before = await write(20_000);
    expect(await write(40_000)).toBeLessThanOrEqual(before * 1.1);
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

/** As files were before they had blocks. */
async function writeFirstFormat(path: string, calls: readonly JournalCall[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA page_size = 16384; PRAGMA application_id = 1397508690; PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
    CREATE TABLE call (
      revision INTEGER PRIMARY KEY AUTOINCREMENT,
      trace_key INTEGER NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL, principal TEXT, behalf TEXT, agent TEXT,
      capability TEXT, face TEXT NOT NULL, code TEXT, began INTEGER NOT NULL, ended INTEGER,
      bucket INTEGER, gateway TEXT, record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX call_ended ON call (ended, agent, code, bucket, trace_key);
    CREATE TABLE usage (
      day INTEGER NOT NULL, principal TEXT NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL,
      calls INTEGER NOT NULL, failed INTEGER NOT NULL, ms INTEGER NOT NULL, cost REAL NOT NULL,
      bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
      PRIMARY KEY (day, principal, agent, tool)
    ) STRICT, WITHOUT ROWID;
  `);
  const insert = database.prepare(`
    INSERT INTO call (trace_key, trace_id, span_id, face, began, ended, gateway, record)
    VALUES (?, ?, ?, 'mcp', ?, ?, 'node-a', ?)`);
  for (const { trace_id, span_id, began_at, ended_at, ...rest } of calls) {
    const key = Number.parseInt(trace_id.slice(0, 8) + trace_id.slice(9, 13), 16);
    const record = JSON.stringify({ trace_id, span_id, began_at, ended_at, ...rest });
    insert.run(key, trace_id, span_id, began_at, ended_at, record);
  }
  database.close();
}
