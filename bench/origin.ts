import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import type { Origin } from './report.ts';

const root = new URL('../', import.meta.url);

/** What was measured, and on what kind of machine. */
export function readOrigin(): Origin {
  return {
    versions: {
      node: process.versions.node,
      starloom: versionIn(new URL('packages/starloom/package.json', root)),
      undici: versionIn(createRequire(import.meta.url).resolve('undici/package.json')),
    },
    commit: readCommit(),
    machine: `${availableParallelism()} shared cores`,
    date: new Date().toISOString().slice(0, 10),
  };
}

function versionIn(file: URL | string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** `-dirty` when the tree is not as it was committed. */
function readCommit(): string {
  try {
    const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio }).trim();
  } catch {
    return 'unknown';
  }
}
