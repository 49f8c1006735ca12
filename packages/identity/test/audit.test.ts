import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import {
  type AuditEntry,
  AuditLog,
  type AuditLogOptions,
  auditFiles,
  readPublicKeys,
  rotateSigningKey,
  SigningKeys,
  verifyAudit,
} from '../src/index.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const entry = (capability: string): AuditEntry => ({
  type: 'call',
  decision: 'allow',
  principal: 'ada',
  grant: 'key:ci',
  mode: 'psk',
  agent_id: 'coder',
  capability,
  trace_id: 't',
  depth: 1,
  tool: 'fabric.call',
});

async function openWorld(options: Partial<AuditLogOptions> = {}) {
  const home = await temporaryFolder();
  const clock = new ManualClock();
  const folder = join(home.path, 'audit');
  const keys = await SigningKeys.open({ folder: home.path, clock, log: silentLog });
  const open = async () => {
    clock.advance(1);
    return await AuditLog.open({ folder, keys, clock, log: silentLog, ...options });
  };
  const verify = async () => {
    const files = (await auditFiles(folder)).map((name) => join(folder, name));
    return await verifyAudit(files, { keys: await readPublicKeys(home.path) });
  };
  const edit = async (index: number, change: (lines: string[]) => string[]) => {
    const path = join(folder, (await auditFiles(folder))[index] ?? '');
    const lines = (await readFile(path, 'utf8')).split('\n');
    lines.pop();
    await writeFile(
      path,
      change(lines)
        .map((line) => `${line}\n`)
        .join(''),
    );
  };
  return {
    home: home.path,
    folder,
    clock,
    open,
    verify,
    edit,
    [Symbol.asyncDispose]: async () => {
      await keys.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** A log of two runs: the first with ten calls, the second with two. */
async function written() {
  const world = await openWorld();
  for (const calls of [10, 2]) {
    const log = await world.open();
    for (let index = 0; index < calls; index += 1) log.record(entry(`c${index}`));
    await log.recorded(entry('last'));
    await log.close();
  }
  return world;
}

describe('the audit log', () => {
  it('keeps every entry in order over restarts, for its owner alone', async () => {
    await using world = await written();
    expect(await world.verify()).toEqual({
      intact: true,
      files: 2,
      records: 18,
      unsealed: 0,
      open: [],
      interrupted: 0,
      problems: [],
    });
    for (const name of await auditFiles(world.folder)) {
      expect((await stat(join(world.folder, name))).mode & 0o777).toBe(0o600);
    }
  });

  it.each<[name: string, flaw: string, change: (lines: string[]) => string[]]>([
    ['a changed word', 'broken_chain', (lines) => change(lines, 3, 'ada', 'eve')],
    ['a changed decision', 'broken_chain', (lines) => change(lines, 5, 'allow', 'deny')],
    ['a missing line', 'out_of_order', (lines) => lines.toSpliced(4, 1)],
    ['two lines in another order', 'out_of_order', swap],
    ['a line twice', 'out_of_order', (lines) => lines.toSpliced(4, 0, lines[4] ?? '')],
    ['an added line', 'unreadable', (lines) => lines.toSpliced(4, 0, '{"seq":5}')],
    ['spaces in a line', 'not_canonical', (lines) => change(lines, 3, '{', '{ ')],
    ['no beginning', 'not_begun', (lines) => lines.slice(1)],
    ['a line after the end', 'after_close', (lines) => [...lines, lines[2] ?? '']],
    ['a signature of nobody', 'bad_signature', (lines) => signedBy(lines, 'AAAA')],
    ['no line at all', 'not_begun', () => []],
  ])('shows %s (%s)', async (_, flaw, edit) => {
    await using world = await written();
    await world.edit(0, edit);
    const { intact, problems } = await world.verify();
    expect(intact).toBe(false);
    expect(problems.map((problem) => problem.flaw)).toContain(flaw);
  });

  it('shows lines that were cut off its end, and a file that was taken away', async () => {
    await using cut = await written();
    await cut.edit(0, (lines) => lines.slice(0, -3));
    expect((await cut.verify()).problems).toMatchObject([{ flaw: 'missing_before', line: 1 }]);
    await using world = await written();
    const log = await world.open();
    await log.close();
    const [, second = ''] = await auditFiles(world.folder);
    await rm(join(world.folder, second));
    expect((await world.verify()).problems).toMatchObject([{ flaw: 'missing_before' }]);
  });

  it('takes a line that was half written when its process was killed as no flaw', async () => {
    await using world = await openWorld();
    const log = await world.open();
    await log.recorded(entry('a'));
    const [name = ''] = await auditFiles(world.folder);
    const path = join(world.folder, name);
    await writeFile(path, `${await readFile(path, 'utf8')}{"seq":3,"at"`);
    const next = await world.open();
    await next.recorded(entry('b'));
    expect(await world.verify()).toMatchObject({ intact: true, files: 2, unsealed: 2 });
    await next.close();
    await log.close();
  });

  it('takes a file whose first line could not be written as no flaw, and goes on from the one before', async () => {
    await using world = await openWorld();
    for (const call of ['a', 'b']) {
      const log = await world.open();
      await log.recorded(entry(call));
      await log.close();
      const [last = ''] = (await auditFiles(world.folder)).slice(-1);
      await writeFile(join(world.folder, last.replace('-000001-', '-000002-')), '{"seq":1,');
    }
    expect(await world.verify()).toMatchObject({ intact: true, files: 4, records: 6 });
  });

  it('stays in order when the clock is set back between two runs', async () => {
    await using world = await openWorld();
    for (const back of [0, 90_000, 0]) {
      world.clock.advance(-back);
      const log = await world.open();
      await log.recorded(entry('a'));
      await log.close();
    }
    expect(await world.verify()).toMatchObject({ intact: true, files: 3, problems: [] });
  });

  it('is bounded: it goes on in another file, and the oldest go', async () => {
    await using world = await openWorld({ fileBytes: 4_000, totalBytes: 20_000 });
    const log = await world.open();
    for (let index = 0; index < 200; index += 1) {
      world.clock.advance(1);
      await log.recorded(entry(`c${index}`));
    }
    await log.close();
    const report = await world.verify();
    expect(report).toMatchObject({ intact: true, open: [] });
    expect(report.files).toBeGreaterThan(2);
    expect(report.files).toBeLessThan(10);
  });

  it('is verified with keys that sign no more', async () => {
    await using world = await written();
    await rotateSigningKey(world.home, { now: world.clock.now(), atOnce: true });
    expect(await world.verify()).toMatchObject({ intact: true });
  });

  it('refuses what must be written down while it cannot be, and goes on when it can', async () => {
    await using world = await openWorld({ fileBytes: 100 });
    const log = await world.open();
    await rm(world.folder, { recursive: true });
    await log.recorded(entry('a')).catch(() => {});
    await expect(log.recorded(entry('b'))).rejects.toMatchObject({ code: 'OVERLOADED' });
    await mkdir(world.folder);
    const isWritten = () =>
      log.recorded(entry('c')).then(
        () => true,
        () => false,
      );
    await expect.poll(isWritten).toBe(true);
    await log.close();
    expect(await world.verify()).toMatchObject({ intact: true });
  });

  it('verifies and continues files that an earlier version wrote', async () => {
    await using world = await openWorld();
    const before = join(import.meta.dirname, 'fixtures/audit');
    await cp(before, world.folder, { recursive: true });
    const known = JSON.parse(await readFile(join(before, 'public-keys.json'), 'utf8'));
    const verify = async () => {
      const files = (await auditFiles(world.folder)).map((name) => join(world.folder, name));
      const own = await readPublicKeys(world.home);
      return await verifyAudit(files, {
        keys: new Map([...Object.entries<string>(known), ...own]),
      });
    };
    const report = { intact: true, records: 10, unsealed: 1, interrupted: 1, problems: [] };
    expect(await verify()).toMatchObject(report);
    const log = await world.open();
    await log.recorded(entry('after'));
    await log.close();
    expect(await verify()).toMatchObject({ ...report, files: 3, records: 13 });
  });

  it('gives refused credentials a bounded number of lines', async () => {
    await using world = await openWorld();
    const log = await world.open();
    for (let index = 0; index < 500; index += 1) log.denied('psk', 'unknown_key');
    world.clock.advance(1_000);
    log.denied('passport', 'expired');
    await log.close();
    const { records } = await world.verify();
    expect(records).toBe(2 + 20 + 1 + 1);
  });
});

function change(lines: string[], at: number, from: string, to: string): string[] {
  return lines.map((line, index) => (index === at ? line.replace(from, to) : line));
}

function swap(lines: string[]): string[] {
  const [third = '', fourth = ''] = lines.slice(3, 5);
  return lines.toSpliced(3, 2, fourth, third);
}

function signedBy(lines: string[], signature: string): string[] {
  return lines.map((line) => line.replace(/"signature":"[^"]+"/, `"signature":"${signature}"`));
}
