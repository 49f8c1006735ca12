// Runs the official suite against a URL and reads what it found. Scenarios that the suite runs but
// does not score are kept, too: the suite's own baseline passes over them. The edition before this
// one runs as well: it tests an older client in ways that the newer one no longer does.

import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { parse } from 'yaml';
import { z } from 'zod';
import { fileOfPackage } from '../support/installed-package.ts';

/** By revision, and everything that the older edition knows. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '0.1.16'] as const;
export type Revision = (typeof REVISIONS)[number];

export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string | undefined;
}

export interface ScenarioResult {
  readonly revision: Revision;
  readonly scenario: string;
  /** Counts towards conformance with the revision. */
  readonly scored: boolean;
  readonly checks: readonly Check[];
}

export const SUITE = '@modelcontextprotocol/conformance';
const OLDER_EDITION = '0.1.16';
const OLDER_SUITE = 'conformance-0-1';

/** A hang guard: the suite itself gives up on a scenario after half a minute. */
const SUITE_MS = 600_000;

const checksSchema = z.array(
  z.object({
    id: z.string(),
    status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
    errorMessage: z.string().optional(),
  }),
);

const requirementsSchema = z.object({
  server: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string() })),
});

export async function runSuite(url: string, revision: Revision): Promise<ScenarioResult[]> {
  await using output = await temporaryFolder();
  const which = revision === OLDER_EDITION ? ['--suite', 'all'] : ['--requirements', revision];
  const args = ['server', '--url', url, ...which, '--output-dir', output.path];
  const { stderr } = await run(revision, args);
  const found = await readChecks(output.path);
  return (await scenariosOf(revision)).map(({ scenario, scored }) => {
    const checks = found.get(scenario) ?? [didNotRun(stderr)];
    return { revision, scenario, scored, checks };
  });
}

function run(revision: Revision, args: readonly string[]) {
  const script = fileOfPackage(revision === OLDER_EDITION ? OLDER_SUITE : SUITE, 'dist/index.js');
  const limits = { maxLineBytes: 16_777_216 };
  return runProgram({ command: process.execPath, args: [script, ...args], limits }, SUITE_MS);
}

/** By scenario; the folders of the suite are named `server-<scenario>-<time>`. */
async function readChecks(folder: string): Promise<Map<string, Check[]>> {
  const found = new Map<string, Check[]>();
  for await (const file of glob('server-*/checks.json', { cwd: folder })) {
    const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(dirname(file)) ?? [];
    if (scenario === undefined) throw new Error(`the suite left an unknown folder: ${file}`);
    found.set(scenario, checksSchema.parse(JSON.parse(await readFile(join(folder, file), 'utf8'))));
  }
  return found;
}

async function scenariosOf(revision: Revision) {
  if (revision === OLDER_EDITION) return await scenariosOfOlderEdition();
  const file = fileOfPackage(SUITE, `requirements/${revision}.yaml`);
  const requirements = requirementsSchema.parse(parse(await readFile(file, 'utf8')));
  const unscored = requirements.not_scored.filter(({ leg }) => leg === 'server');
  return [
    ...requirements.server.map((scenario) => ({ scenario, scored: true })),
    ...unscored.map(({ scenario }) => ({ scenario, scored: false })),
  ];
}

async function scenariosOfOlderEdition() {
  const { stdout } = await run(OLDER_EDITION, ['list', '--server']);
  const names = Array.from(stdout.matchAll(/^ +- (\S+)/gm), ([, name = '']) => name);
  return names.map((scenario) => ({ scenario, scored: true }));
}

function didNotRun(stderr: string): Check {
  const errorMessage = `the scenario did not run: ${stderr.slice(-500)}`;
  return { id: 'did-not-run', status: 'FAILURE', errorMessage };
}
