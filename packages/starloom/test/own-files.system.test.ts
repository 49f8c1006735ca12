import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { childEnvironment } from '@starloom/wire';
import { expect, it } from 'vitest';
import { LAUNCHER, scratch } from './run-starloom.ts';
import { AGENTS, ECHO_AGENT } from './running-gateway.ts';

const AGENT = {
  name: 'tester',
  provider: {
    kind: 'scripted',
    script: [
      {
        segments: [{ type: 'tool_call', toolCall: { name: 'memory:put', args: { text: 'b' } } }],
      },
      { segments: [{ type: 'text', text: 'done' }] },
    ],
  },
  plugins: [{ name: 'memory' }],
};

it.skipIf(process.platform === 'win32')(
  'whatever the umask and the mode of the folder, what commands write is for its owner alone',
  async () => {
    await using place = await scratch({
      'echo.cjs': ECHO_AGENT,
      'agents.yaml': AGENTS,
      'agent.json': JSON.stringify(AGENT),
    });
    const { folder } = place;
    const home = join(folder, 'home');
    // As an earlier version, or its user, left them.
    for (const name of ['', 'jobs', 'audit', 'identity']) {
      await mkdir(join(home, name), { recursive: true });
      await chmod(join(home, name), 0o777);
    }
    for (const name of ['jobs.sqlite', 'jobs.sqlite-wal', 'jobs.sqlite-shm']) {
      await writeFile(join(home, 'jobs', name), '');
      await chmod(join(home, 'jobs', name), 0o666);
    }
    const before = new Set(await readdir(folder));
    const start = (args: readonly string[]) =>
      spawn('sh', ['-c', 'umask 000; exec "$0" "$@"', process.execPath, LAUNCHER, ...args], {
        cwd: folder,
        env: childEnvironment({ extra: { STARLOOM_HOME: home } }),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    const run = async (...args: string[]) => {
      const child = start(args);
      const [[code], stderr] = await Promise.all([
        once(child, 'exit') as Promise<[number | null]>,
        text(child.stderr),
        text(child.stdout),
      ]);
      expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({
        args,
        code: 0,
        stderr: '',
      });
    };
    const gateway = start(['up', '--json', '--port', '0']);
    gateway.stderr.resume();
    const exited = once(gateway, 'exit');
    try {
      await once(createInterface({ input: gateway.stdout }), 'line');
      await Promise.all([
        run('keys', 'create', 'desk').then(() => run('keys', 'revoke', 'desk')),
        run('keys', 'rotate', '--signing'),
        run('passport', 'create', 'ada', '--scope', 'agent:echo'),
        run('call', 'echo', 'say', 'x'.repeat(100_000), '--async'),
        run('agent', 'exec', 'hello', '--yes'),
      ]);
      const left = await readdir(folder, { recursive: true });
      const written = left.filter((name) => name.startsWith('home/') || !before.has(name));
      expect(written.length).toBeGreaterThan(20);
      const open: string[] = [];
      for (const name of written) {
        const { mode } = await stat(join(folder, name)).catch(() => ({ mode: 0 }));
        if ((mode & 0o077) !== 0) open.push(`${name} ${(mode & 0o777).toString(8)}`);
      }
      expect(open).toEqual([]);
    } finally {
      gateway.kill('SIGTERM');
      await exited;
    }
  },
  60_000,
);
