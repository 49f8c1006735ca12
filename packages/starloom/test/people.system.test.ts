import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CTRL_C, ENTER, openTerminal } from './open-terminal.ts';
import { LAUNCHER, runStarloom, scratch } from './run-starloom.ts';
import { AGENTS, ECHO_AGENT, type RunningGateway, startGateway } from './running-gateway.ts';

const WHERE = fileURLToPath(new URL('./fixtures/where.cjs', import.meta.url));

/** Never answers; when it is cancelled it leaves a file. */
const STUCK_AGENT = `
const { createInterface } = require('node:readline');
const { writeFileSync } = require('node:fs');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { cancel } = JSON.parse(line);
  if (cancel) writeFileSync('cancelled', ''), process.exit(0);
  console.log(JSON.stringify({ type: 'progress', data: { percent: 5, message: 'stuck' } }));
});
`;

const MORE = `${AGENTS}- agent_id: stuck
  endpoint: { transport: process, command: node, args: [./stuck.cjs] }
  capabilities: [{ name: wait, streaming: true }]
- agent_id: where
  endpoint: { transport: stdio, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(WHERE)}] }
`;

describe('what people see', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway({ 'agents.yaml': MORE, 'stuck.cjs': STUCK_AGENT });
    await gateway.run('agents', 'tools', 'where');
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const run = (args: string[], env: Record<string, string> = {}) =>
    runStarloom(args, { cwd: gateway.folder, env: { STARLOOM_HOME: gateway.home, ...env } });

  it('has no escape sequence and no bidi control of an agent, and loses none as JSON', async () => {
    const called = await run(['call', 'where', 'paint'], { FORCE_COLOR: '1' });
    expect(called).toMatchObject({ code: 0, stdout: 'forged\n' });
    const tools = await run(['agents', 'tools', 'where']);
    expect(tools.stdout).toMatch(/cwd +reads +Where it runs\n/);
    const described = await run(['agents', 'describe', 'where']);
    expect(described.stdout).toContain('Where it runs');
    const { stdout } = await run(['call', 'where', 'paint', '--json']);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
    expect(stdout).not.toMatch(/[\x1b\u202e]/);
    expect(JSON.parse(stdout).result.answer).toBe('\x1b[2J\u202eforged\x1b]0;x\x07');
  });

  it('is coloured as NO_COLOR and FORCE_COLOR say', async () => {
    const plain = await run(['health']);
    const coloured = await run(['health'], { FORCE_COLOR: '1' });
    const refused = await run(['health'], { FORCE_COLOR: '1', NO_COLOR: '1' });
    expect(coloured.stdout).toContain('\x1b[32mok\x1b[39m');
    for (const { stdout } of [plain, refused]) expect(stdout).not.toContain('\x1b');
  });

  it('names commands with npx where npm started them', async () => {
    const nowhere = { STARLOOM_HOME: '/nonexistent' };
    const started = await run(['agents'], { ...nowhere, npm_command: 'exec' });
    expect(started.stderr).toContain('"npx starloom up"');
    expect((await run(['agents'], nowhere)).stderr).toContain('"starloom up"');
    const help = await run(['call', '--help'], { npm_command: 'exec' });
    expect(help.stdout).toMatch(/^Examples:\n {2}npx starloom call /);
  });

  it('suggests the name that was meant', async () => {
    for (const [words, meant] of [
      [['call', 'ecko', 'say'], 'did you mean "echo"?'],
      [['call', 'echo', 'sya'], 'did you mean "say"?'],
      [['call', 'where.cwdd'], 'did you mean "cwd"?'],
      [['agents', 'describe', 'wehre'], 'did you mean "where"?'],
      [['agents', 'tool'], 'did you mean "starloom agents tools"?'],
      [['route', 'echo', 'sayy'], 'did you mean "say"?'],
      [['helth'], 'Did you mean health?'],
    ] as const) {
      expect((await run([...words])).stderr).toContain(meant);
    }
  });

  it('ends a call with Ctrl-C: it is cancelled at the agent, and the exit code is 130', async () => {
    const child = spawn(process.execPath, [LAUNCHER, 'call', 'stuck', 'wait', '--stream'], {
      cwd: gateway.folder,
      env: { PATH: process.env.PATH, STARLOOM_HOME: gateway.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    await expect.poll(() => stderr).toContain('(stuck: 5 % stuck)');
    child.kill('SIGINT');
    const [[code], stdout] = await Promise.all([once(child, 'close'), text(child.stdout)]);
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/error CANCELLED: [^\n]*\n$/);
    const left = () => readFile(join(gateway.folder, 'cancelled'), 'utf8').catch(() => undefined);
    await expect.poll(left).toBe('');
  });

  it('asks before an agent is removed, on a terminal', async () => {
    await using place = await scratch({ 'agents.yaml': AGENTS });
    const env = { STARLOOM_HOME: join(place.folder, 'home') };
    const agents = () => readFile(join(place.folder, 'agents.yaml'), 'utf8');
    for (const [answer, said] of [
      ['n', /nothing was changed/],
      ['y', /echo is no longer in agents\.yaml/],
    ] as const) {
      expect(await agents()).toBe(AGENTS);
      await using terminal = openTerminal({ ...place, env }, 'agents', 'remove', 'echo');
      await terminal.shows(/Remove echo from agents\.yaml\? \[y\/N\]/);
      terminal.press(answer + ENTER);
      await terminal.shows(said);
      expect(await terminal.exited).toBe(0);
    }
    expect(await agents()).toBe('[]\n');
  });
});

describe('starloom up on a terminal', () => {
  it('logs short lines, one for each call, and stops with Ctrl-C', async () => {
    await using place = await scratch({ 'echo.cjs': ECHO_AGENT, 'agents.yaml': AGENTS });
    const env = { STARLOOM_HOME: join(place.folder, 'home') };
    await using terminal = openTerminal({ ...place, env }, 'up', '--port', '0');
    await terminal.shows(/starloom is up at http[\s\S]*Ctrl-C stops it/);
    const [link = ''] = /http\S+\/console\/#code=[\w-]{43}/.exec(terminal.written) ?? [];
    const again = await runStarloom(['console'], { cwd: place.folder, env });
    expect(again.stdout).toMatch(/^http\S+\/console\/#code=[\w-]{43}\n$/);
    for (const url of [link, again.stdout.trim()]) {
      const [page, code] = url.split('#code=');
      const response = await fetch(`${page}api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      });
      expect(await response.json()).toMatchObject({ ok: true, principal: 'local' });
    }
    const call = ['call', 'echo', 'say', 'good morning'];
    expect((await runStarloom(call, { cwd: place.folder, env })).code).toBe(0);
    await terminal.shows(/\d\d:\d\d:\d\d {2}echo\.say {2}ok {2}\d+ ms/);
    await runStarloom(['call', 'echo', 'say', 'fail'], { cwd: place.folder, env });
    await terminal.shows(/warn {2}echo\.say {2}UPSTREAM_ERROR {2}\d+ ms {2}.*as asked/);
    terminal.press(CTRL_C);
    expect(await terminal.exited).toBe(0);
    expect(terminal.written).not.toContain('"level"');
  });

  it('logs JSON where it is piped', async () => {
    await using gateway = await startGateway();
    await gateway.run('call', 'echo', 'say', 'fail');
    const { stderr } = await gateway.stop();
    const lines = stderr.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).level)).toContain('warn');
    expect(stderr).not.toContain('#code=');
  });
});
