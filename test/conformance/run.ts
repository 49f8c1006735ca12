// `npm run conformance`: the official suite against the conformance agent, directly and through a
// real gateway. Exits with 1 on a failure that is not expected, and on an expectation that is stale.

import { execFileSync } from 'node:child_process';
import { versionOfPackage } from '../support/installed-package.ts';
import { judge, readBaseline } from './baseline.ts';
import { toFigures, toTable } from './report.ts';
import { REVISIONS, runSuite, type ScenarioResult, SUITE } from './suite.ts';
import { startConformanceWorld } from './world.ts';

await using world = await startConformanceWorld();
const direct: ScenarioResult[] = [];
const gateway: ScenarioResult[] = [];
for (const revision of REVISIONS) {
  direct.push(...(await runSuite(world.agent.url, revision)));
  gateway.push(...(await runSuite(world.gateway.url, revision)));
}
const runs = { direct, gateway };
const verdict = judge(gateway, await readBaseline());

console.log(toTable(runs));
for (const line of verdict.unexpected) console.log(`unexpected: ${line}`);
for (const line of verdict.stale) console.log(`stale, remove it from the list: ${line}`);
if (process.argv.includes('--json')) {
  const versions = {
    node: process.versions.node,
    starloom: versionOfPackage('starloom'),
    conformance: versionOfPackage(SUITE),
  };
  console.log(JSON.stringify({ ...toFigures(runs, verdict), versions, commit: commit() }));
}
if (verdict.unexpected.length + verdict.stale.length > 0) process.exitCode = 1;

/** `-dirty` when the tree is not as it was committed. */
function commit(): string {
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  try {
    return execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}
