import {
  appendFile,
  mkdir,
  readFile as readText,
  stat,
  writeFile as writeText,
} from 'node:fs/promises';
import { join } from 'node:path';
import { type Log, silentLog, systemClock } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/core/seams.ts';
import { createTrust, type DecisionRecord, verifyDecisions } from '../../src/trust/index.ts';
import { fetchPage, openTrust, readFile, request, type TrustWorld } from './world.ts';

const ALLOWED: Verdict = { decision: 'allow', rule: 'no_objection', reasons: [] };

describe('a record of decisions', () => {
  it('says what was called, by whom, what was decided, why and what came of it', async () => {
    await using world = await openTrust();
    const page = world.read(fetchPage, 'words');
    const asked = request(readFile, { path: 'a', line: 1 }, [world.user('hi'), page]);
    const verdict = { decision: 'deny', rule: 'x', reasons: ['x: because'] } as const;
    world.verifier.record(asked, readFile, verdict, 'denied');
    const records: DecisionRecord[] = [];
    await verifyDecisions(world.decisions.fileOf('session-1'), {
      onDecision: (record) => records.push(record),
    });
    expect(records).toMatchObject([
      {
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
    const file = world.decisions.fileOf('session-1');
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
      problems: [],
      truncated: 0,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('keeps sessions apart, each with its own key, under any session id', async () => {
    await using world = await openTrust();
    const ids = ['a', 'b', '../../escape', 'x'.repeat(300), 'ä/\u0000', '\ud800'];
    for (const sessionId of ids) {
      world.verifier.record(
        request(readFile, {}, [], { sessionId }),
        readFile,
        ALLOWED,
        'executed',
      );
    }
    await world.close();
    const files = new Set(ids.map((id) => world.decisions.fileOf(id)));
    expect(files.size).toBe(ids.length);
    const keys = new Set<string>();
    for (const file of files) {
      expect(file.startsWith(join(world.folder, 'decisions'))).toBe(true);
      const report = await verifyDecisions(file);
      expect(report.intact).toBe(true);
      keys.add(report.keys.join());
    }
    expect(keys.size).toBe(ids.length);
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
    await mkdir(trust.decisions.fileOf('session-1'), { recursive: true });
    trust.verifier.record(asked, readFile, ALLOWED, 'executed');
    expect(errors).toHaveLength(1);
    expect(await trust.verifier.verify(asked, readFile)).toMatchObject({
      decision: 'deny',
      rule: 'unrecorded',
    });
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
      expect(await verifyDecisions(file)).toMatchObject({ intact: false, truncated: 1 });
    }
  });

  it('by signing a file of lies with another key is found by who knows the key', async () => {
    await using honest = await openTrust();
    await using forger = await openTrust();
    const file = await written(honest, 1);
    const publicKeys = [honest.decisions.publicKeyOf('session-1') ?? ''];
    const lies = await written(forger, 1);
    await honest.close();
    await forger.close();
    expect(await verifyDecisions(file, { publicKeys })).toMatchObject({ intact: true });
    expect(await verifyDecisions(lies)).toMatchObject({ intact: true });
    const report = await verifyDecisions(lies, { publicKeys });
    expect(new Set(report.problems.map(({ flaw }) => flaw))).toEqual(
      new Set(['unknown_key', 'missing_run']),
    );
  });
});

describe('a session that is taken up again', () => {
  it('goes on in the same chain with a key of its own', async () => {
    await using folder = await temporaryFolder();
    const file = await runOnce(folder.path);
    await runOnce(folder.path);
    const report = await verifyDecisions(file);
    expect(report).toMatchObject({ intact: true, decisions: 2 });
    expect(new Set(report.keys).size).toBe(2);
  });

  it('shows that the run before it crashed, also in the middle of a line', async () => {
    await using folder = await temporaryFolder();
    const file = await runOnce(folder.path, { crash: true });
    await runOnce(folder.path, { crash: true });
    expect(await verifyDecisions(file)).toMatchObject({ problems: [], truncated: 2 });
    await appendFile(file, '{"type":"deci');
    await runOnce(folder.path);
    expect(await verifyDecisions(file)).toMatchObject({
      problems: [{ flaw: 'unreadable' }],
      decisions: 3,
      truncated: 2,
    });
  });
});

async function written(world: TrustWorld, count: number): Promise<string> {
  for (let index = 0; index < count; index += 1) {
    world.verifier.record(request(readFile, { index }), readFile, ALLOWED, 'executed');
  }
  return world.decisions.fileOf('session-1');
}

async function runOnce(folder: string, { crash = false } = {}): Promise<string> {
  const trust = createTrust({ clock: systemClock, folder });
  trust.verifier.record(request(readFile, {}), readFile, ALLOWED, 'executed');
  if (!crash) await trust.close();
  return trust.decisions.fileOf('session-1');
}
