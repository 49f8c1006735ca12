import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';

const root = new URL('../', import.meta.url);

export interface Origin {
  readonly versions: Readonly<Record<string, string>>;
  readonly commit: string;
  readonly machine: string;
  readonly date: string;
}

/** What was measured, with the packages that were used beside it, and on what kind of machine. */
export function readOrigin(...packages: readonly string[]): Origin {
  const { resolve } = createRequire(import.meta.url);
  const used = packages.map((name) => [name, versionIn(resolve(`${name}/package.json`))]);
  return {
    versions: {
      node: process.versions.node,
      starloom: versionIn(new URL('packages/starloom/package.json', root)),
      ...Object.fromEntries(used),
    },
    commit: readCommit(),
    machine: `${availableParallelism()} shared cores`,
    date: new Date().toISOString().slice(0, 10),
  };
}

/** One line of text about it. */
export function toOriginLine({ versions, commit, machine, date }: Origin): string {
  const used = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${date}, ${machine}, ${used.join(', ')}, commit ${commit}.`;
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
