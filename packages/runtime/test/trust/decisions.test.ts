import {
  appendFile,
  mkdir,
  readFile as readText,
  rm,
  stat,
  writeFile as writeText,
} from 'node:fs/promises';
import { join } from 'node:path';
import { type Log, silentLog, systemClock } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Verdict } from '../../src/core/seams.ts';
import { type DecisionRecord, verifyDecisions } from '../../src/decision-log/decision-record.ts';
import { createTrust, type TrustParts } from '../../src/trust/create-trust.ts';
import { fetchPage, openTrust, readFile, request, type TrustWorld } from './world.ts';

const ALLOWED: Verdict = { decision: 'allow', rule: 'allowed', reasons: [] };

describe('a record of decisions', () => {
  it('says what was called, by whom, what was decided, why and what came of it', async () => {
    await using world = await openTrust();
    const page = world.read(fetchPage, 'words');
    const asked = request(readFile, { path: 'a', line: 1 }, [world.user('hi'), page]);
    const verdict = { decision: 'deny', rule: 'x', reasons: ['x: because'] } as const;
    world.verifier.record(asked, readFile, verdict, 'denied');
    const records: DecisionRecord[] = [];
    await verifyDecisions(fileOf(world), {
      onDecision: (record) => records.push(record),
    });
    expect(records).toMatchObject([
      {
        session_id: 'session-1',
        tool: 'fs:read_file',
        tool_source: 'tool:fs:read_file',
        origin: 'model',
        decision: 'deny',
        rule: 'x',
        reasons: ['x: because'],
        outcome: 'denied',
        trace_id: asked.trace.trace_id,
        call_id: 'call-1',
        tainted_by: [{ id: page.id, source: 'tool:http:get' }],
      },
    ]);
  });

  it('holds a digest of the arguments that their order does not change, not the arguments', async () => {
    await using world = await openTrust();
    const digests: string[] = [];
    for (const args of [
      { a: 'secret', b: 1 },
      { b: 1, a: 'secret' },
      { a: 'other', b: 1 },
    ]) {
      world.verifier.record(request(readFile, args), readFile, ALLOWED, 'executed');
    }
    const file = fileOf(world);
    await verifyDecisions(file, { onDecision: (one) => digests.push(one.arguments_sha256) });
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
    expect(await readText(file, 'utf8')).not.toContain('secret');
  });

  it('is intact when it was closed, and readable by its owner alone', async () => {
    await using world = await openTrust();
    const file = await written(world, 3);
    await world.close();
    expect(await verifyDecisions(file)).toMatchObject({
      intact: true,
      decisions: 3,
      unsealed: 0,
      problems: [],
      truncated: false,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('holds the decisions of all sessions of a run in one chain, under any session id', async () => {
    await using world = await openTrust();
    const ids = ['a', 'b', '../../escape', 'x'.repeat(300), 'ä/\u0000', '\ud800', 'a'];
    for (const sessionId of ids) {
      const asked = request(readFile, {}, [], { sessionId });
      world.verifier.record(asked, readFile, ALLOWED, 'executed');
    }
    const file = fileOf(world);
    expect(file.startsWith(join(world.folder, 'decisions'))).toBe(true);
    await world.close();
    const found: string[] = [];
    const report = await verifyDecisions(file, { onDecision: (one) => found.push(one.session_id) });
    expect(report).toMatchObject({ intact: true, decisions: ids.length });
    expect(found).toEqual(ids.map((id) => id.toWellFormed()));
  });

  it('is in the file before it is signed, and is signed soon, many at once', async () => {
    await using world = await openTrust();
    const file = await written(world, 20);
    expect(await verifyDecisions(file)).toMatchObject({ decisions: 20, problems: [] });
    await vi.waitFor(
      async () => expect(await verifyDecisions(file)).toMatchObject({ unsealed: 0 }),
      { timeout: 20_000 },
    );
    const seals = (await readText(file, 'utf8')).match(/"type":"seal"/g) ?? [];
    expect(seals.length).toBeLessThan(20);
  });

  it('does not wait for a signature for long when many decisions come at once', async () => {
    await using world = await openTrust();
    const file = await written(world, 600);
    expect((await verifyDecisions(file)).unsealed).toBeLessThan(256);
  });

  it('takes arguments that have no canonical form as they came', async () => {
    await using world = await openTrust();
    world.verifier.record(request(readFile, { a: '\ud800' }), readFile, ALLOWED, 'executed');
    expect(await world.verifier.verify(request(readFile, {}), readFile)).toMatchObject(ALLOWED);
  });

  it('that cannot be written is logged, and the next call is refused', async () => {
    await using folder = await temporaryFolder();
    const errors: string[] = [];
    const log: Log = { ...silentLog, error: (_, message) => errors.push(message) };
    const trust = createTrust({ clock: systemClock, folder: folder.path, log });
    const asked = request(readFile, {});
    await writeText(join(folder.path, 'decisions'), 'in the way');
    trust.verifier.record(asked, readFile, ALLOWED, 'executed');
    expect(errors).toHaveLength(1);
    expect(await trust.verifier.verify(asked, readFile)).toMatchObject({
      decision: 'deny',
      rule: 'unrecorded',
    });
  });

  it('goes on in another file after a line that could not be written', async () => {
    await using world = await openTrust();
    const before = await written(world, 1);
    await rm(before);
    await mkdir(before);
    await written(world, 2);
    const after = fileOf(world);
    await world.close();
    expect(after).not.toBe(before);
    expect(await verifyDecisions(after)).toMatchObject({ intact: true, decisions: 1 });
  });
});

describe('tampering', () => {
  it('with any single character is found', async () => {
    await using world = await openTrust();
    const file = await written(world, 3);
    await world.close();
    const text = await readText(file, 'utf8');
    const copy = `${file}.copy`;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(text.length - 1),
        fc.constantFrom('x', '0', ' ', '"', '\n'),
        async (at, letter) => {
          fc.pre(text[at] !== letter && !(at === text.length - 1));
          await writeText(copy, text.slice(0, at) + letter + text.slice(at + 1));
          expect((await verifyDecisions(copy)).intact).toBe(false);
        },
      ),
    );
  });

  it.each([
    ['removed', (lines: string[]) => lines.toSpliced(2, 1)],
    ['doubled', (lines: string[]) => lines.toSpliced(2, 0, lines[2] ?? '')],
    ['moved', (lines: string[]) => lines.toSpliced(2, 2, lines[3] ?? '', lines[2] ?? '')],
    ['put first', (lines: string[]) => [lines[2] ?? '', ...lines]],
    ['spelled otherwise', (lines: string[]) => lines.with(2, ` ${lines[2]}`)],
  ])('with a line %s is found', async (_, change) => {
    await using world = await openTrust();
    const file = await written(world, 4);
    await world.close();
    const lines = (await readText(file, 'utf8')).trimEnd().split('\n');
    await writeText(file, `${change(lines).join('\n')}\n`);
    const report = await verifyDecisions(file);
    expect(report.problems).not.toEqual([]);
  });

  it('with text that has no canonical form is found', async () => {
    await using world = await openTrust();
    const file = await written(world, 1);
    await world.close();
    await writeText(file, (await readText(file, 'utf8')).replace('session-1', '\\ud800'));
    expect(await verifyDecisions(file)).toMatchObject({ problems: [{ flaw: 'broken_chain' }] });
  });

  it('by cutting the end off is reported, wherever it is cut', async () => {
    await using world = await openTrust();
    const file = await written(world, 3);
    await world.close();
    const lines = (await readText(file, 'utf8')).trimEnd().split('\n');
    for (let kept = 0; kept < lines.length; kept += 1) {
      await writeText(
        file,
        lines
          .slice(0, kept)
          .map((line) => `${line}\n`)
          .join(''),
      );
      expect(await verifyDecisions(file)).toMatchObject({ intact: false, truncated: true });
    }
  });

  it('by signing a file of lies with another key is found by who knows the key', async () => {
    await using honest = await openTrust();
    await using forger = await openTrust();
    const file = await written(honest, 1);
    const { publicKey = '' } = honest.decisions;
    const lies = await written(forger, 1);
    await honest.close();
    await forger.close();
    expect(await verifyDecisions(file, { publicKey })).toMatchObject({ intact: true, publicKey });
    expect(await verifyDecisions(lies)).toMatchObject({ intact: true });
    const { problems } = await verifyDecisions(lies, { publicKey });
    expect(new Set(problems.map(({ flaw }) => flaw))).toEqual(new Set(['unknown_key']));
  });

  it('by adding a line or a run behind the end is found', async () => {
    await using world = await openTrust();
    const file = await written(world, 1);
    await world.close();
    const lines = (await readText(file, 'utf8')).trimEnd().split('\n');
    for (const added of [lines[1], lines[0]]) {
      await writeText(file, `${[...lines, added].join('\n')}\n`);
      expect(await verifyDecisions(file)).toMatchObject({ problems: [{ flaw: 'after_close' }] });
    }
  });
});

describe('a file that an earlier version wrote', () => {
  it.each([
    ['closed', { intact: true, truncated: false, unsealed: 0 }],
    ['killed', { intact: false, truncated: true, unsealed: 1 }],
  ])('verifies as before when its run was %s', async (end, report) => {
    const file = join(import.meta.dirname, `fixtures/decisions-${end}.jsonl`);
    expect(await verifyDecisions(file)).toMatchObject({ ...report, decisions: 2, problems: [] });
  });
});

describe('an agent that is started again', () => {
  it('begins a record of its own, with a key of its own', async () => {
    await using folder = await temporaryFolder();
    const first = await verifyDecisions(await runOnce(folder.path));
    const second = await verifyDecisions(await runOnce(folder.path));
    expect([first, second]).toMatchObject([
      { intact: true, decisions: 1 },
      { intact: true, decisions: 1 },
    ]);
    expect(first.publicKey).not.toBe(second.publicKey);
  });

  it('leaves a record that says that it crashed, and how much of it was not signed yet', async () => {
    await using folder = await temporaryFolder();
    const file = await runOnce(folder.path, { crash: true });
    expect(await verifyDecisions(file)).toEqual({
      intact: false,
      decisions: 1,
      unsealed: 1,
      publicKey: expect.any(String),
      problems: [],
      truncated: true,
    });
    await appendFile(file, '{"type":"deci');
    expect(await verifyDecisions(file)).toMatchObject({
      problems: [{ line: 3, flaw: 'unreadable' }],
      truncated: true,
    });
  });
});

function fileOf({ decisions }: TrustParts): string {
  return decisions.file ?? '';
}

async function written(world: TrustWorld, count: number): Promise<string> {
  for (let index = 0; index < count; index += 1) {
    world.verifier.record(request(readFile, { index }), readFile, ALLOWED, 'executed');
  }
  return fileOf(world);
}

async function runOnce(folder: string, { crash = false } = {}): Promise<string> {
  const trust = createTrust({ clock: systemClock, folder });
  trust.verifier.record(request(readFile, {}), readFile, ALLOWED, 'executed');
  const file = fileOf(trust);
  if (!crash) await trust.close();
  return file;
}
