import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CTRL_C, CTRL_D, ENTER, openAgentTerminal, TAB } from './agent-terminal.ts';
import { agentWorld, WRITE } from './agent-world.ts';

const ASK_FIRST = '[security.tools]\n"fs:write_file" = "ask"\n';
const HANG = { segments: ['Let me think. '], hang: true };

describe('starloom agent chat on a terminal', () => {
  it('completes commands, streams answers, and says how to go on', async () => {
    await using world = await agentWorld(['Good morning.'], { 'notes.txt': 'milk' });
    await using chat = openAgentTerminal(world, 'chat');
    await chat.shows(/Tab completes.*tester › /s);
    chat.press(`/rea${TAB}`);
    await chat.shows(/\/read /);
    chat.press(`notes.txt${ENTER}`);
    await chat.shows(/milk.*tester › /s);
    chat.press(`hello${ENTER}`);
    await chat.shows(/Good morning\..*tester › /s);
    chat.press(CTRL_D);
    await chat.shows(/go on with: starloom agent chat --session \S+/);
    expect(await chat.exited).toBe(0);
  });

  it.each(['/exit', '/quit'])('ends with %s', async (typed) => {
    await using world = await agentWorld(['unused']);
    await using chat = openAgentTerminal(world, 'chat');
    await chat.shows(/tester › /);
    chat.press(`/help${ENTER}`);
    await chat.shows(/\/exit {2}Ends the chat.*tester › /s);
    chat.press(`${typed}${ENTER}`);
    await chat.shows(/go on with: starloom agent chat/);
    expect(await chat.exited).toBe(0);
  });

  it('cancels the turn with Ctrl-C, and not itself', async () => {
    await using world = await agentWorld([HANG, 'Still here.']);
    await using chat = openAgentTerminal(world, 'chat');
    await chat.shows(/tester › /);
    chat.press(`think${ENTER}`);
    await chat.shows(/Let me think\./);
    chat.press(CTRL_C);
    await chat.shows(/CANCELLED.*tester › /s);
    chat.press(CTRL_C);
    await chat.shows(/Ctrl-D ends the chat.*tester › /s);
    chat.press(`and now${ENTER}`);
    await chat.shows(/Still here\..*tester › /s);
  });

  it('asks before a call that wants it: y runs it, anything else does not', async () => {
    const script = [[WRITE], 'As you wish.', [WRITE], 'Written.'];
    await using world = await agentWorld(script, { 'agent.toml': ASK_FIRST });
    await using chat = openAgentTerminal(world, 'chat');
    await chat.shows(/tester › /);
    chat.press(`write${ENTER}`);
    await chat.shows(
      /wants to run fs:write_file with.*path: made\.txt.*content: made.*Why you are asked.*Run it\?.*\(y\/a\/n\)/s,
    );
    chat.press(`no${ENTER}`);
    await chat.shows(/✗ fs:write_file.*As you wish\..*tester › /s);
    expect(existsSync(join(world.folder, 'made.txt'))).toBe(false);
    chat.press(`again${ENTER}`);
    await chat.shows(/Run it\?/);
    chat.press(`y${ENTER}`);
    await chat.shows(/✓ fs:write_file.*Written\..*tester › /s);
    expect(existsSync(join(world.folder, 'made.txt'))).toBe(true);
  });

  it('writes a rule to agent.toml when the answer is "always", and does not ask again', async () => {
    const script = [[WRITE], 'Written.', [WRITE], 'Again.'];
    const toml = `# mine\n${ASK_FIRST}`;
    await using world = await agentWorld(script, { 'agent.toml': toml });
    await using chat = openAgentTerminal(world, 'chat');
    await chat.shows(/tester › /);
    chat.press(`write${ENTER}`);
    await chat.shows(/"always" would allow fs:write_file with path made\.txt.*\(y\/a\/n\)/s);
    chat.press(`a${ENTER}`);
    await chat.shows(/Written\..*tester › /s);
    chat.press(`again${ENTER}`);
    await chat.shows(/Again\..*tester › /s);
    expect(await readFile(join(world.folder, 'agent.toml'), 'utf8')).toBe(
      `${toml}\n[[security.always]]\ntool = "fs:write_file"\ntargets = { "path" = ["made.txt"] }\n`,
    );
  });
});

describe('starloom agent exec on a terminal', () => {
  it('asks before a call that wants it, and ends with Ctrl-C', async () => {
    await using world = await agentWorld([[WRITE], 'Written.'], { 'agent.toml': ASK_FIRST });
    await using left = openAgentTerminal(world, 'exec', 'write');
    await left.shows(/wants to run fs:write_file.*\(y\/a\/n\)/s);
    left.press(CTRL_C);
    expect(await left.exited).toBe(130);
    expect(existsSync(join(world.folder, 'made.txt'))).toBe(false);
    await using answered = openAgentTerminal(world, 'exec', 'write');
    await answered.shows(/\(y\/a\/n\)/);
    answered.press(`y${ENTER}`);
    await answered.shows(/Written\./);
    expect(await answered.exited).toBe(0);
    expect(existsSync(join(world.folder, 'made.txt'))).toBe(true);
  });
});

describe('starloom agent init on a terminal', () => {
  it('asks, and writes what was answered', async () => {
    await using world = await agentWorld();
    await using terminal = openAgentTerminal(world, 'init', 'bob');
    await terminal.shows(/What is it called \(bob\): /);
    terminal.press(`Bob${ENTER}`);
    await terminal.shows(/What is it for: /);
    terminal.press(`keeping notes${ENTER}`);
    await terminal.shows(/What may it use \(fs, time\): /);
    terminal.press(`memory, time${ENTER}`);
    await terminal.shows(/Which model.*: /);
    terminal.press(`llama3.2${ENTER}`);
    await terminal.shows(/Where.*11434\/v1\): /);
    terminal.press(ENTER);
    await terminal.shows(/Its key.*: /);
    terminal.press(ENTER);
    await terminal.shows(/Bob is ready/);
    expect(await terminal.exited).toBe(0);
    const agent = JSON.parse(await readFile(join(world.folder, 'bob', 'agent.json'), 'utf8'));
    expect(agent).toMatchObject({
      name: 'Bob',
      description: 'keeping notes',
      plugins: [{ name: 'memory' }, { name: 'time' }],
      provider: { kind: 'openai-compatible', model: 'llama3.2' },
    });
  });

  it('writes nothing when it is left in the middle', async () => {
    await using world = await agentWorld();
    await using terminal = openAgentTerminal(world, 'init', 'bob');
    await terminal.shows(/What is it called/);
    terminal.press(CTRL_C);
    expect(await terminal.exited).toBe(130);
    expect(existsSync(join(world.folder, 'bob'))).toBe(false);
  });
});
