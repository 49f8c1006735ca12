import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  methods,
  type NewSessionRequest,
  type SetSessionConfigOptionRequest,
} from '@agentclientprotocol/sdk';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callTools, scripted, until } from '../core/world.ts';
import { inWords, openEditor } from './editor.ts';

const call = (name: string, args: object) => callTools({ id: name, name, args });
const textsOf = (shown: readonly string[]) => shown.filter((line) => line.startsWith('completed'));

describe('the folder of an editor', () => {
  let folder: TemporaryFolder;
  let project: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
    project = join(folder.path, 'project');
    await mkdir(project);
    await writeFile(join(folder.path, 'a.txt'), 'of the agent');
    await writeFile(join(project, 'a.txt'), 'of the project');
  });

  afterEach(() => folder[Symbol.asyncDispose]());

  const plugins = (root: string) => [{ name: 'fs', config: { roots: [root] } }];
  const read = () => scripted(call('fs:read_file', { path: 'a.txt' }), 'Done.');

  it('is where the session works, as far as agent.json allows it', async () => {
    const inside = { agent: { plugins: plugins(folder.path) }, follows: true };
    await using editor = await openEditor({ provider: read(), ...inside });
    await editor.prompt(await editor.open({ cwd: project }), 'Read it.');
    expect(textsOf(inWords(editor.shown))).toEqual(['completed: of the project']);

    const outside = { agent: { plugins: plugins(project) }, follows: true };
    await using other = await openEditor({ provider: read(), ...outside });
    await other.prompt(await other.open({ cwd: '/' }), 'Read it.');
    expect(textsOf(inWords(other.shown))).toEqual(['completed: of the project']);
  });

  it('is narrower than the roots of agent.json: what lies beside it is refused', async () => {
    const provider = scripted(call('fs:read_file', { path: join(folder.path, 'a.txt') }), 'Done.');
    const agent = { plugins: plugins(folder.path) };
    await using editor = await openEditor({ provider, agent, follows: true });
    await editor.prompt(await editor.open({ cwd: project }), 'Read it.');
    const [failed] = inWords(editor.shown).filter((line) => line.startsWith('failed'));
    expect(failed).toContain('outside');
  });

  it('is refused when it is none', async () => {
    await using editor = await openEditor({ provider: scripted(), follows: true });
    const opened = editor.open({ cwd: join(project, 'a.txt') });
    await expect(opened).rejects.toMatchObject({ code: -32602 });
  });

  it('is read and written through the editor where it offers that, confined as on disk', async () => {
    const path = join(project, 'a.txt');
    const files = new Map([[path, 'not saved yet']]);
    const provider = scripted(
      call('fs:read_file', { path: 'a.txt' }),
      call('fs:edit_file', { path: 'a.txt', old_text: 'not saved', new_text: 'changed' }),
      call('fs:write_file', { path: '../b.txt', content: 'x' }),
      call('fs:write_file', { path: '.git/hooks/x', content: 'x' }),
      'Done.',
    );
    const toml = { security: { tools: { 'fs:*': 'allow' as const } } };
    const agent = { plugins: plugins(folder.path) };
    await using editor = await openEditor({ provider, agent, toml, files, follows: true });
    await editor.prompt(await editor.open({ cwd: project }), 'Change a.txt.');
    expect(textsOf(inWords(editor.shown))[0]).toBe('completed: not saved yet');
    expect([...files]).toEqual([[path, 'changed yet']]);
    expect(await readFile(path, 'utf8')).toBe('of the project');
    const results = editor.shown.filter((one) => 'status' in one && one.status === 'failed');
    expect(results).toHaveLength(2);
  });

  it('shows an edit as a difference with its place', async () => {
    const provider = scripted(
      call('fs:edit_file', { path: 'a.txt', old_text: 'project', new_text: 'person' }),
      call('fs:write_file', { path: 'new.txt', content: 'made' }),
      'Done.',
    );
    const agent = { plugins: plugins(folder.path) };
    await using editor = await openEditor({ provider, agent, follows: true });
    await editor.prompt(await editor.open({ cwd: project }), 'Change a.txt, make new.txt.');
    const path = join(project, 'a.txt');
    const edit = { type: 'diff', path, oldText: 'of the project', newText: 'of the person' };
    expect(editor.shown).toContainEqual(
      expect.objectContaining({
        toolCallId: 'fs:edit_file',
        content: [edit],
        locations: [{ path }],
      }),
    );
    const [done] = editor.shown.filter(
      (one) => one.sessionUpdate === 'tool_call_update' && one.status === 'completed',
    );
    expect(done).toMatchObject({ content: [edit, { type: 'content' }] });
    expect(editor.shown).toContainEqual(
      expect.objectContaining({
        content: [expect.objectContaining({ oldText: null, newText: 'made' })],
      }),
    );
  });

  it('has programs run in a terminal of the editor where it offers one', async () => {
    const provider = scripted(call('shell:run', { command: 'echo hi' }), 'Done.');
    const shell = { name: 'shell', config: { folder: folder.path, approval: false } };
    await using editor = await openEditor({
      provider,
      agent: { plugins: [shell] },
      terminal: async () => 'hi\n',
      follows: true,
    });
    await editor.prompt(await editor.open({ cwd: project }), 'Run echo hi.');
    expect(editor.terminals).toEqual([`create in ${project}: echo hi`, 'release']);
    const [done] = editor.shown.filter((one) => 'status' in one && one.status === 'completed');
    expect(done).toMatchObject({
      content: [{ type: 'terminal', terminalId: 't1' }, { content: { text: 'hi\n[exit code 0]' } }],
    });
  });

  it('leaves no program running in the terminal when the prompt is cancelled', async () => {
    const provider = scripted(call('shell:run', { command: 'sleep 100' }), 'Done.');
    const shell = { name: 'shell', config: { folder: folder.path, approval: false } };
    await using editor = await openEditor({
      provider,
      agent: { plugins: [shell] },
      terminal: () => new Promise(() => {}),
      follows: true,
    });
    const sessionId = await editor.open({ cwd: project });
    const prompted = editor.prompt(sessionId, 'Wait.');
    await until(() => editor.terminals.length > 0);
    await editor.connection.agent.notify(methods.agent.session.cancel, { sessionId });
    expect(await prompted).toBe('cancelled');
    await expect.poll(() => editor.terminals.slice(1)).toEqual(['kill', 'release']);
  });
});

describe('a session in an editor', () => {
  it('has a mode in which the model can only read', async () => {
    await using folder = await temporaryFolder();
    const provider = scripted(call('fs:write_file', { path: 'x', content: 'x' }), 'Done.', 'Hi.');
    const agent = { plugins: [{ name: 'fs', config: { roots: [folder.path] } }] };
    await using editor = await openEditor({ provider, agent });
    const { agent: agentSide } = editor.connection;
    const params: NewSessionRequest = { cwd: '/tmp', mcpServers: [] };
    const { sessionId, modes } = await agentSide.request(methods.agent.session.new, params);
    expect(modes).toMatchObject({ currentModeId: 'default', availableModes: [{}, { id: 'read' }] });
    await agentSide.request(methods.agent.session.setMode, { sessionId, modeId: 'read' });
    await editor.prompt(sessionId, 'Write x.');
    const tools = [...(provider.asked[0]?.context.tools.keys() ?? [])];
    expect(tools).toEqual(['fs:read_file', 'fs:list', 'fs:search']);
    expect(inWords(editor.shown)).toContainEqual(expect.stringContaining('There is no tool'));
    await agentSide.request(methods.agent.session.setMode, { sessionId, modeId: 'default' });
    await editor.prompt(sessionId, 'Hello.');
    expect(provider.asked[2]?.context.tools.has('fs:write_file')).toBe(true);
    const wrong = agentSide.request(methods.agent.session.setMode, { sessionId, modeId: 'yolo' });
    await expect(wrong).rejects.toMatchObject({ code: -32602 });
  });

  it('chooses among the models of agent.json', async () => {
    const models = [{ name: 'small', provider: { kind: 'scripted', script: ['I am small.'] } }];
    const provider = { kind: 'scripted', script: ['I am the usual one.'] };
    await using editor = await openEditor({ agent: { provider, models } });
    const { agent } = editor.connection;
    const params: NewSessionRequest = { cwd: '/tmp', mcpServers: [] };
    const { sessionId, configOptions } = await agent.request(methods.agent.session.new, params);
    expect(configOptions).toMatchObject([
      {
        ...{ id: 'model', category: 'model', currentValue: 'scripted' },
        options: [{ value: 'scripted' }, { value: 'small' }],
      },
    ]);
    await editor.prompt(sessionId, 'Who are you?');
    const chosen: SetSessionConfigOptionRequest = { sessionId, configId: 'model', value: 'small' };
    const answer = await agent.request(methods.agent.session.setConfigOption, chosen);
    expect(answer.configOptions).toMatchObject([{ currentValue: 'small' }]);
    await editor.prompt(sessionId, 'And now?');
    const said = inWords(editor.shown).map((line) => line.replace('agent message: ', ''));
    expect(said.join('')).toBe('I am the usual one.I am small.');
    const wrong = agent.request(methods.agent.session.setConfigOption, { ...chosen, value: 'x' });
    await expect(wrong).rejects.toMatchObject({ code: -32602 });
  });

  it('ends whole when the editor vanishes while it asks for a permission', async () => {
    await using folder = await temporaryFolder();
    const write = call('fs:write_file', { path: 'x', content: 'x' });
    const provider = scripted(write, 'Still here.');
    const agent = { plugins: [{ name: 'fs', config: { roots: [folder.path] } }] };
    const toml = { security: { tools: { 'fs:write_file': 'ask' as const } } };
    const stateFolder = join(folder.path, 'state');
    await using editor = await openEditor({
      ...{ provider, agent, toml, stateFolder },
      clicks: () => new Promise(() => {}),
    });
    const sessionId = await editor.open();
    const ended = editor.prompt(sessionId, 'Write x.').catch((error: unknown) => error);
    await until(() => editor.asked.length > 0);
    editor.leave();
    expect(await ended).toBeInstanceOf(Error);
    await expect
      .poll(() => editor.world.eventsOf('STREAM:ERROR'))
      .toMatchObject([{ code: 'CANCELLED' }]);
    await expect(readFile(join(folder.path, 'x'))).rejects.toThrow();

    await using later = await openEditor({ ...{ provider, agent, toml, stateFolder } });
    const params = { sessionId, cwd: '/tmp', mcpServers: [] };
    await later.connection.agent.request(methods.agent.session.load, params);
    expect(inWords(later.shown)).toContainEqual(expect.stringContaining('it was cancelled'));
    expect(await later.prompt(sessionId, 'Are you there?')).toBe('end_turn');
  });
});
