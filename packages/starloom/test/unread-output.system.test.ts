import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { LAUNCHER, scratch } from './run-starloom.ts';

/** More answers than a pipe holds. */
const REQUESTS = 3_000;

it.each([
  ['rpc', 'mcp.discover'],
  ['up', 'ping'],
])(
  'starloom %s --stdio ends on SIGTERM although nobody reads what it says',
  async (command, method) => {
    await using place = await scratch({});
    const cwd = place.folder;
    const child = spawn(process.execPath, [LAUNCHER, command, '--stdio'], {
      cwd,
      env: { PATH: process.env.PATH, STARLOOM_HOME: cwd },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');
    child.stdin.on('error', () => {});
    for (let id = 0; id < REQUESTS; id += 1) {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method })}\n`);
    }
    await once(child.stdout, 'readable');
    child.kill('SIGTERM');
    const hung = AbortSignal.timeout(30_000);
    hung.addEventListener('abort', () => child.kill('SIGKILL'));
    expect(await ended).toEqual([0, null]);
  },
);
