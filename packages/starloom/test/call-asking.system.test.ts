import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CTRL_C, ENTER, openTerminal } from './open-terminal.ts';
import { type RunningGateway, startGateway } from './running-gateway.ts';

const ASKER = fileURLToPath(new URL('./fixtures/asking-agent.ts', import.meta.url));
const entry = (agentId: string, ...args: string[]) => `- agent_id: ${agentId}
  endpoint: { transport: stdio, command: ${JSON.stringify(process.execPath)}, args: ${JSON.stringify([ASKER, ...args])} }
`;

describe.each(['current', 'legacy'])('starloom call to an agent of the %s era that asks', (era) => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway({ 'agents.yaml': entry('asker', era) });
    await gateway.run('agents', 'tools', 'asker');
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const open = (...args: string[]) =>
    openTerminal({ folder: gateway.folder, env: { STARLOOM_HOME: gateway.home } }, ...args);

  it('asks the person at the terminal, again where an answer does not fit', async () => {
    await using terminal = open('call', 'asker', 'book', 'A table');
    await terminal.shows(/asker asks[\s\S]*│ Which table\?\s+│ Say it well\.[\s\S]*Your name> /);
    terminal.press(`A${ENTER}`);
    await terminal.shows(/at least 2 characters[\s\S]*Your name> /);
    terminal.press(`Ada${ENTER}`);
    await terminal.shows(/whole number from 1 to 9[\s\S]*seats> /);
    terminal.press(ENTER);
    await terminal.shows(/1\) Vegetables\s+2\) Fish[\s\S]*meal> /);
    terminal.press(`2${ENTER}`);
    await terminal.shows(/quiet> /);
    terminal.press(`yes${ENTER}`);
    await terminal.shows(/"content":\{"name":"Ada","seats":2,"meal":"f","quiet":true\}/);
    expect(await terminal.exited).toBe(0);
    expect(terminal.written).not.toContain('\x1b[2J');
  });

  it('asks as often as the agent does', async () => {
    await using terminal = open('call', 'asker', 'twice', 'x', '--stream');
    await terminal.shows(/First\?[\s\S]*a> /);
    terminal.press(`/decline${ENTER}`);
    await terminal.shows(/Second\?[\s\S]*b> /);
    terminal.press(`blue${ENTER}`);
    await terminal.shows(/"one":\{"action":"decline"\},"two":\{.*"b":"blue"/);
    expect(await terminal.exited).toBe(0);
  });

  it('shows a link and waits', async () => {
    await using terminal = open('call', 'asker', 'sign');
    await terminal.shows(/https:\/\/sign\.example\/x[\s\S]*leads to sign\.example[\s\S]*Enter/);
    terminal.press(ENTER);
    await terminal.shows(/\{"paper":\{"action":"accept"\}\}/);
    expect(await terminal.exited).toBe(0);
  });

  it('answers the agent "cancel" on Ctrl-C, and exits 130', async () => {
    await using terminal = open('call', 'asker', 'book');
    await terminal.shows(/Your name> /);
    terminal.press(CTRL_C);
    await terminal.shows(/error CANCELLED/);
    expect(await terminal.exited).toBe(130);
    const waiting = async () => (await fetch(`${gateway.url}/metrics`)).text();
    expect(await waiting()).toContain('starloom_inflight_calls 0');
  });

  it('prints the questions and the command that answers them where no person is', async () => {
    const { code, stdout, stderr } = await gateway.run('call', 'asker', 'book');
    expect({ code, stdout }).toEqual({ code: 11, stdout: '' });
    expect(stderr).toMatch(/question \S+ of asker \(form\)\n {4}│ Which table\?\n/);
    expect(stderr).toMatch(/meal {2}.*required\n\s+- v = Vegetables\n/);
    const command = /starloom (call asker book --conversation \S+ --input) '(\S+)=\{"name":"…"/;
    const [, words = '', id] = command.exec(stderr) ?? [];
    const declined = await gateway.run(...words.split(' '), `${id}=/decline`);
    expect(declined).toMatchObject({ code: 0, stdout: '{"table":{"action":"decline"}}\n' });
  });

  it('prints the payload with --json, and goes on by --conversation and --input', async () => {
    const asked = await gateway.run('call', 'asker', 'twice', '--json');
    expect(asked.code).toBe(11);
    const { details } = JSON.parse(asked.stderr).error;
    const [one] = details.inputs;
    expect(one).toMatchObject({ kind: 'form', message: 'First?' });
    const goOn = ['--conversation', details.conversation_id];
    const answer = ['--input', `${one.id}={"a":"red"}`];
    const unfit = await gateway.run(
      'call',
      'asker',
      'twice',
      ...goOn,
      '--input',
      `${one.id}={"a":1}`,
    );
    expect(unfit.code).toBe(2);
    expect(unfit.stderr).toMatch(/does not fit/);
    const second = await gateway.run('call', 'asker', 'twice', ...goOn, ...answer, '--json');
    const next = JSON.parse(second.stderr).error.details;
    const last = ['--conversation', next.conversation_id, '--input', `${next.inputs[0].id}=blue`];
    const { code, stdout } = await gateway.run('call', 'asker', 'twice', ...last);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      one: { action: 'accept', content: { a: 'red' } },
      two: { action: 'accept', content: { b: 'blue' } },
    });
    const again = await gateway.run('call', 'asker', 'twice', ...last);
    expect(again.stderr).toMatch(/No question is open/);
    expect(again.code).toBe(2);
  });

  it('asks nothing on a terminal with --no-input', async () => {
    await using terminal = open('call', 'asker', 'book', '--no-input');
    await terminal.shows(/error INPUT_REQUIRED/);
    expect(await terminal.exited).toBe(11);
  });
});

describe('answers that cannot be given', () => {
  it('are refused before anything is called', async () => {
    await using gateway = await startGateway();
    const alone = await gateway.run('call', 'echo', 'say', '--input', 'a=b');
    expect(alone.code).toBe(64);
    expect(alone.stderr).toMatch(/needs --conversation/);
    const unknown = await gateway.run(
      'call',
      'echo',
      'say',
      '--conversation',
      'c1.x',
      '--input',
      'a=b',
    );
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toMatch(/no such conversation/);
    for (const inputs of [
      ['--input', 'a'],
      ['--input', 'a=b', '--input', 'a=c'],
    ]) {
      expect((await gateway.run('call', 'echo', 'say', ...inputs)).code).toBe(64);
    }
  });
});
