import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';

const LEDGER_THREAD = new URL('../src/sqlite/ledger-thread.ts', import.meta.url);

/** Opens a ledger as the launcher of a checkout does: a resolve hook instead of the option. */
const SCRIPT = `
import { registerHooks } from 'node:module';
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, { ...context, conditions: ['@starloom/source', ...context.conditions] }),
});
const { LedgerThread } = await import(process.argv[2]);
const thread = await LedgerThread.open(process.argv[3]);
await thread.close();
`;

it('runs from source in its thread too, whether or not the packages are built', async () => {
  await using folder = await temporaryFolder();
  const coverage = join(folder.path, 'coverage');
  const script = join(folder.path, 'open-ledger.mjs');
  await writeFile(script, SCRIPT);
  const args = [script, LEDGER_THREAD.href, join(folder.path, 'jobs.db')];
  await promisify(execFile)(process.execPath, args, { env: { NODE_V8_COVERAGE: coverage } });
  const loaded = await urlsIn(coverage);
  expect(loaded.filter((url) => url.endsWith('/jobs/src/sqlite/ledger-file.ts'))).toHaveLength(1);
  expect(loaded.filter((url) => /\/packages\/[^/]+\/dist\//.test(url))).toEqual([]);
});

/** Of every script that the process and its threads loaded. */
async function urlsIn(folder: string): Promise<string[]> {
  const files = await readdir(folder);
  const reports = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return reports.flatMap((report) => {
    const { result } = JSON.parse(report) as { result: { url: string }[] };
    return result.map(({ url }) => url);
  });
}
