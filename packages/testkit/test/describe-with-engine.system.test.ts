import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { type ProgramRun, runProgram } from '../src/index.ts';

describe('describeWithEngine without the engine', () => {
  it('runs the rest, and says in the last lines what could not run and how to change it', async () => {
    const { code, stdout } = await runFixture({});
    expect(code).toBe(0);
    expect(stdout).toMatch(/1 passed.*2 skipped/);
    const [, lastLines] = stdout.split('Not run, because an engine is missing:');
    expect(lastLines).toMatch(/^\s*missing-engine\.fixture\.ts > with redis\n/);
    expect(lastLines).toContain('apt-get install no-such-package');
    expect(lastLines).toContain('nobody may install here');
    expect(lastLines).toMatch(
      /a client of another project\n.*start the index \(no index answers\)\n\s*$/,
    );
  });

  it('fails when CI=true', async () => {
    const { code, stdout, stderr } = await runFixture({ CI: 'true' });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('no-such-program is needed here');
  });
});

async function runFixture(extra: Record<string, string>): Promise<ProgramRun> {
  const vitest = fileURLToPath(import.meta.resolve('vitest/package.json'));
  const config = fileURLToPath(new URL('./fixtures/vitest.config.ts', import.meta.url));
  return runProgram({
    command: process.execPath,
    args: [join(vitest, '../vitest.mjs'), 'run', '--config', config],
    cwd: join(config, '..'),
    env: childEnvironment({ extra: { NO_COLOR: '1', ...extra } }),
  });
}
