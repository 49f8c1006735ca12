import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
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

/** Its agent hands a file over, and keeps the conversation. */
const ADAPTER = `
export function createAdapter({ manifest }) {
  return {
    async *call(_, { keep }) {
      keep?.({});
      yield { type: 'artifact', data: { id: 'a', name: 'a.txt', media_type: 'text/plain', text: 'a', last: true } };
      yield { type: 'final', data: { answer: 'done' } };
    },
    health: async () => ({ status: 'online', checked_at: null }),
    describe: async () => ({ capabilities: manifest.capabilities }),
    close: async () => {},
  };
}
`;
const CLERK = `- agent_id: clerk
  endpoint: { transport: http, protocol: ./adapter.mjs, uri: "http://127.0.0.1:1" }
  capabilities: [{ name: work }]
`;
const SERVER = fileURLToPath(new URL('./fixtures/where.cjs', import.meta.url));
const OTHER = {
  mcpServers: {
    taken: { command: process.execPath, args: [SERVER], env: { API_TOKEN: 'of-taken-alone' } },
  },
};
const STATE = ['agents', 'audit', 'conversations', 'identity', 'jobs', 'oauth', 'secrets'];

it.skipIf(process.platform === 'win32')(
  'whatever the umask and the modes of folders, what commands write is for its owner alone',
  async () => {
    await using place = await scratch({
      'echo.cjs': ECHO_AGENT,
      'adapter.mjs': ADAPTER,
      'agents.yaml': `${AGENTS}${CLERK}`,
      'agent.json': JSON.stringify(AGENT),
      '.mcp.json': JSON.stringify(OTHER),
    });
    const { folder } = place;
    const home = join(folder, 'home');
    // As an earlier version, or its user, left them.
    for (const name of ['', ...STATE]) {
      await mkdir(join(home, name), { recursive: true });
      await chmod(join(home, name), 0o777);
    }
    for (const name of ['jobs/jobs.sqlite', 'jobs/jobs.sqlite-wal', 'jobs/jobs.sqlite-shm']) {
      await writeFile(join(home, name), '');
      await chmod(join(home, name), 0o666);
    }
    await writeFile(join(home, 'conversation.key'), randomBytes(32));
    await chmod(join(home, 'conversation.key'), 0o666);
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
    const serving = [
      start(['up', '--json', '--port', '0']),
      start(['agent', 'run', '--json', '--mcp', 'http', '--port', '0']),
    ];
    const exited = serving.map((each) => once(each, 'exit'));
    try {
      for (const { stdout, stderr } of serving) {
        stderr.resume();
        await once(createInterface({ input: stdout }), 'line');
      }
      const given = ['--callback-key', 'agent:echo', '--', process.execPath, SERVER];
      await Promise.all([
        run('keys', 'create', 'desk').then(() => run('keys', 'revoke', 'desk')),
        run('keys', 'rotate', '--signing'),
        run('passport', 'create', 'ada', '--scope', 'agent:echo'),
        run('call', 'echo', 'say', 'x'.repeat(100_000), '--async'),
        run('call', 'clerk', 'work', 'this', '--save', 'saved/deep'),
        run('agents', 'add', 'given', ...given).then(() =>
          run('agents', 'import', '.mcp.json', '--apply'),
        ),
        run('agent', 'exec', 'hello', '--yes'),
        run('agent', 'init', 'mine', '--yes'),
      ]);
      const left = await readdir(folder, { recursive: true });
      const written = left.filter((name) => name.startsWith('home/') || !before.has(name));
      for (const part of [...STATE.filter((name) => name !== 'oauth'), 'saved/deep']) {
        const inside = written.filter((name) => name.includes(`${part}/`));
        expect(inside, `nothing was written to ${part}`).not.toEqual([]);
      }
      expect(written).toContainEqual(expect.stringMatching(/^agents\.yaml\..*\.bak$/));
      const open: string[] = [];
      for (const name of written) {
        const { mode } = await stat(join(folder, name)).catch(() => ({ mode: 0 }));
        if ((mode & 0o077) !== 0) open.push(`${name} ${(mode & 0o777).toString(8)}`);
      }
      // A project of the user, which git and others read: it has the modes that the umask gives.
      expect(open.toSorted()).toEqual(['mine 777', 'mine/agent.json 666', 'mine/agent.toml 666']);
    } finally {
      for (const each of serving) each.kill('SIGTERM');
      await Promise.all(exited);
    }
  },
  120_000,
);
