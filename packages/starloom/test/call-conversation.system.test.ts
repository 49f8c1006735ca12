import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTER, openTerminal } from './open-terminal.ts';
import { type RunningGateway, startGateway } from './running-gateway.ts';

/** An adapter of a package: its agent remembers, and asks when the task is "ask". */
const ADAPTER = `
const QUESTIONS = [
  { id: 'why', kind: 'text', message: 'Why?' },
  { id: 'may', kind: 'choice', message: 'May I?', options: [{ id: 'y', label: 'Allow' }, { id: 'n', label: 'Never' }] },
];
export function createAdapter({ manifest }) {
  return {
    async *call({ input }, { handle, keep, responses, ask }) {
      if (input.task === 'ask') {
        const given = responses ?? (await ask(QUESTIONS, { handle: {} }));
        const answer = JSON.stringify(given.map(({ content }) => content));
        return yield { type: 'final', data: { answer } };
      }
      const words = [...(handle?.words ?? []), input.task];
      keep?.({ words });
      yield { type: 'final', data: { answer: words.join(' ') } };
    },
    health: async () => ({ status: 'online', checked_at: null }),
    describe: async () => ({ capabilities: manifest.capabilities }),
    close: async () => {},
  };
}
`;

const AGENTS = `- agent_id: clerk
  endpoint: { transport: http, protocol: ./adapter.mjs, uri: "http://127.0.0.1:1", options: { any: 1 } }
  capabilities: [{ name: work }]
`;

describe('starloom call to an agent that keeps conversations', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway({ 'agents.yaml': AGENTS, 'adapter.mjs': ADAPTER });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });

  it('says how to go on, and goes on with --conversation', async () => {
    const first = await gateway.run('call', 'clerk', 'work', 'one');
    expect(first).toMatchObject({ code: 0, stdout: 'one\n' });
    const goOn = /to go on: "starloom call clerk work … (--conversation) (\S+)"\n/.exec(
      first.stderr,
    );
    const [, option = '', name = ''] = goOn ?? [];
    expect(name).toBe('clerk-1');
    const again = await gateway.run('call', 'clerk', 'work', 'and', option, name);
    expect(again).toMatchObject({ code: 0, stdout: 'one and\n' });
    expect(again.stderr).toContain('--conversation clerk-1"');
    const second = await gateway.run('call', 'clerk', 'work', 'two', option, name, '--json');
    const { result, conversation_id } = JSON.parse(second.stdout);
    expect(result.answer).toBe('one and two');
    expect(conversation_id).toMatch(/\./);
    const args = ['three', '--conversation', conversation_id, '--stream', '--json'];
    const third = await gateway.run('call', 'work', ...args);
    expect(third.stdout).toContain('"answer":"one and two three"');
    expect(JSON.parse(third.stderr)).toEqual({ conversation_id: expect.any(String) });
  });

  it('refuses answers where nothing was asked, and conversations that are unknown', async () => {
    const { stdout } = await gateway.run('call', 'clerk', 'work', 'one', '--json');
    const goOn = ['--conversation', JSON.parse(stdout).conversation_id];
    const answered = await gateway.run('call', 'clerk', 'work', ...goOn, '--input', 'why=x');
    expect(answered).toMatchObject({ code: 2, stdout: '' });
    expect(answered.stderr).toMatch(/No question is open/);
    const unknown = await gateway.run('call', 'clerk', 'work', 'x', '--conversation', 'c1.none');
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toMatch(/no such conversation/);
  });

  it('asks for text and a choice at the terminal', async () => {
    const place = { folder: gateway.folder, env: { STARLOOM_HOME: gateway.home } };
    await using terminal = openTerminal(place, 'call', 'work', 'ask');
    await terminal.shows(/clerk asks[\s\S]*│ Why\?[\s\S]*answer> /);
    terminal.press(`Because${ENTER}`);
    await terminal.shows(/│ May I\?[\s\S]*1\) Allow\s+2\) Never[\s\S]*choice> /);
    terminal.press(`2${ENTER}`);
    await terminal.shows(/\[\{"text":"Because"\},\{"choice":"n"\}\]/);
    expect(await terminal.exited).toBe(0);
  });

  it('takes text and a choice by --input', async () => {
    const { code, stderr } = await gateway.run('call', 'clerk', 'work', 'ask', '--json');
    expect(code).toBe(11);
    const { conversation_id } = JSON.parse(stderr).error.details;
    const inputs = ['--input', 'why=Because', '--input', 'may=y', '--no-input'];
    const goOn = ['--conversation', conversation_id, ...inputs];
    const answered = await gateway.run('call', 'clerk', 'work', ...goOn);
    expect(answered.stdout).toBe('[{"text":"Because"},{"choice":"y"}]\n');
  });
});
