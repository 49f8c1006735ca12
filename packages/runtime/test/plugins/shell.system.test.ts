import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSlashCommand } from '../../src/index.ts';
import { openPlugin } from './open-plugin.ts';

describe('the shell plugin', () => {
  let folder: TemporaryFolder;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  afterEach(() => folder[Symbol.asyncDispose]());

  const open = (config: object = {}, env: Record<string, string> = {}) =>
    openPlugin('shell', { folder: folder.path, config, env: { PATH: '/usr/bin:/bin', ...env } });
  const isGone = async (file: string) => {
    const pid = Number(await readFile(join(folder.path, file), 'utf8'));
    return !existsSync(`/proc/${pid}`) || /\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8'));
  };

  it('has one tool, which asks before it runs unless configured otherwise', async () => {
    const [tool] = (await open()).tools.values();
    expect(tool).toMatchObject({
      name: 'shell:run',
      command: 'run',
      effect: 'act',
      approval: true,
    });
    const [quiet] = (await open({ approval: false })).tools.values();
    expect(quiet?.approval).toBe(false);
  });

  it('[P2] takes the rest of the line as its command when a person types it', async () => {
    await using shell = await open();
    const typed = parseSlashCommand('/run printf "%s %s" a "b  c" | cat -u --', shell.tools);
    if (typed?.kind !== 'call') throw new Error('no call');
    expect(await shell.run('shell:run', typed.call.args as object)).toBe('a b  c\n[exit code 0]');
  });

  it('runs a command in its folder and shows all it printed, in order, and how it ended', async () => {
    await using shell = await open();
    const command = 'echo one; echo two >&2; echo three; pwd; exit 3';
    expect(await shell.run('shell:run', { command })).toBe(
      `one\ntwo\nthree\n${folder.path}\n[exit code 3]`,
    );
    expect(await shell.run('shell:run', { command: 'printf x; kill -9 $$' })).toBe(
      'x\n[ended by SIGKILL]',
    );
    expect(await shell.run('shell:run', { command: 'if' })).toMatch(/exit code 2\]$/);
  });

  it('shows a command no variable but the usual ones and those it may see', async () => {
    await using shell = await open({ env: ['WANTED'] }, { WANTED: 'yes', API_KEY: 'secret' });
    const printed = await shell.run('shell:run', { command: 'echo "[$WANTED$API_KEY]"' });
    expect(printed).toBe('[yes]\n[exit code 0]');
  });

  it('gives a command nothing to read', async () => {
    await using shell = await open();
    expect(await shell.run('shell:run', { command: 'cat; echo end' })).toBe('end\n[exit code 0]');
  });

  it('ends a command that hangs, with everything it started', async () => {
    await using shell = await open();
    const command = `sleep 1000 & echo $! > child; trap '' TERM; echo before; sleep 1000`;
    const printed = await shell.run('shell:run', { command, timeout_ms: 500 });
    expect(printed).toBe('before\n[ended after 500 ms]');
    expect(await isGone('child')).toBe(true);
  });

  it('leaves nothing behind of a command that went into the background', async () => {
    await using shell = await open();
    const command = `(setsid sleep 1000 & echo $! > child); echo done`;
    expect(await shell.run('shell:run', { command })).toBe('done\n[exit code 0]');
    await vi.waitFor(async () => expect(await isGone('child')).toBe(true), { timeout: 10_000 });
  });

  it('ends a command that prints for ever, and keeps what fits', async () => {
    await using shell = await open({ max_bytes: 1_000 });
    const before = process.memoryUsage().rss;
    const printed = String(
      await shell.run('shell:run', { command: 'head -c 1G /dev/zero | tr "\\0" x' }),
    );
    expect(printed).toBe(`${'x'.repeat(1_000)}\n[ended after 1000 bytes of output]`);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20);
  });

  it('ends a command when nobody waits for it any more', async () => {
    await using shell = await open();
    const left = new AbortController();
    const command = 'echo $$ > self; exec sleep 1000';
    const running = shell.run('shell:run', { command }, { signal: left.signal });
    await vi.waitFor(
      async () => expect(await readFile(join(folder.path, 'self'), 'utf8')).not.toBe(''),
      { timeout: 20_000 },
    );
    left.abort();
    await expect(running).rejects.toThrow(expect.objectContaining({ code: 'CANCELLED' }));
    expect(await isGone('self')).toBe(true);
  });

  it('refuses more time than it was given', async () => {
    await using shell = await open({ timeout_ms: 1_000 });
    const running = shell.run('shell:run', { command: 'true', timeout_ms: 1_001 });
    await expect(running).rejects.toThrow(/timeout_ms|1000/);
  });
});
