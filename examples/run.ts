// `npm run example -- <name>` runs examples/<name>/main.ts; without a name it runs all of them. Each
// checks itself and fails loudly.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** A hang guard, not a measure: an example takes a few seconds. */
const HANGS_MS = 120_000;

const here = import.meta.dirname;
const all = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const asked = process.argv.slice(2);
const unknown = asked.find((name) => !all.includes(name));
if (unknown !== undefined) {
  console.error(`There is no example "${unknown}"; there is: ${all.join(', ')}`);
  process.exit(64);
}
for (const name of asked.length > 0 ? asked : all) {
  console.error(`── ${name}`);
  const { status } = spawnSync(process.execPath, [...process.execArgv, `${here}/${name}/main.ts`], {
    stdio: 'inherit',
    timeout: HANGS_MS,
  });
  if (status !== 0) process.exit(status ?? 1);
}
