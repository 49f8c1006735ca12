import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openAgent } from '../../src/index.ts';
import { callTools, scripted, textOf } from '../core/world.ts';

const COMMAND = [
  process.execPath,
  fileURLToPath(new URL('fixtures/tool-server.ts', import.meta.url)),
];
const SERVER = `[[mcp.servers]]\nname = "one"\ncommand = ${JSON.stringify(COMMAND)}\n`;

/** Headless: no person can be asked. */
async function openFrom(toml: string, provider = scripted()) {
  const folder = await temporaryFolder();
  const plugins = [{ name: 'fs', config: { roots: ['.'] } }];
  const file = { name: 'tester', provider: { kind: 'scripted', script: ['unused'] }, plugins };
  await writeFile(join(folder.path, 'agent.json'), JSON.stringify(file));
  await writeFile(join(folder.path, 'agent.toml'), toml);
  try {
    const agent = await openAgent({ path: folder.path, provider });
    return {
      agent,
      async [Symbol.asyncDispose]() {
        await agent.close();
        await folder[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

describe('tools that the operator listed', () => {
  it.each([
    ['by name', 'allowed_tools = ["structured", "echo"]'],
    ['with "*"', 'allowed_tools = ["*"]'],
  ])('run at the first call without a person: listed %s', async (_, list) => {
    const provider = scripted(callTools({ name: 'one:structured' }), 'Done.');
    await using world = await openFrom(`${SERVER}${list}\n`, provider);
    const denied: unknown[] = [];
    world.agent.bus.onAny((event) => event.type === 'SAFETY:DENIED' && denied.push(event.data));
    const { segments } = await world.agent.turn('Use it.');
    expect({ denied, text: textOf(segments) }).toEqual({ denied: [], text: 'Done.' });
  });

  it('do not block the plugins of the agent itself', async () => {
    const write = { name: 'fs:write_file', args: { path: 'a.txt', content: 'a' } };
    const provider = scripted(callTools(write), 'Done.');
    await using world = await openFrom(`${SERVER}allowed_tools = ["echo"]\n`, provider);
    const denied: unknown[] = [];
    world.agent.bus.onAny((event) => event.type === 'SAFETY:DENIED' && denied.push(event.data));
    await world.agent.turn('Write something.');
    expect(denied).toEqual([]);
  });
});

describe('a name in agent.toml that matches nothing', () => {
  it.each([
    ['a tool of a plugin', '[security.tools]\n"fs:wirte_file" = "deny"\n', 'fs:write_file'],
    ['a family', '[security.tools]\n"sf:*" = "deny"\n', undefined],
    ['a server', `${SERVER}[security]\nvetted_descriptions = ["mcp:oen"]\n`, 'mcp:one'],
  ])('stops the start: %s', async (_, toml, near) => {
    const opening = openFrom(toml);
    await expect(opening).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'config', ...(near && { fix: expect.stringContaining(near) }) },
    });
  });

  it('takes effect and targets of a tool from agent.toml', async () => {
    const tools = '[mcp.servers.tools.grow]\neffect = "read"\n';
    await using world = await openFrom(`${SERVER}allowed_tools = ["*"]\n${tools}`, scripted('Hi.'));
    await world.agent.turn('Hi.');
    expect(world.agent.tools().get('one:grow')).toMatchObject({ effect: 'read' });
    expect(world.agent.tools().get('one:exit')).toMatchObject({ effect: 'act' });
  });

  it.each([
    ['in allowed_tools', `${SERVER}allowed_tools = ["ehco"]\n`, '"echo"'],
    [
      'in security.tools',
      `${SERVER}allowed_tools = ["*"]\n[security.tools]\n"one:ehco" = "ask"\n`,
      '"one:echo"',
    ],
    ['of a tool', `${SERVER}[mcp.servers.tools.ehco]\neffect = "read"\n`, '"echo"'],
    [
      'of an argument',
      `${SERVER}[mcp.servers.tools.echo]\ntargets = ["pth"]\n`,
      'correct the name',
    ],
  ])('is an error once the server has listed its tools: %s', async (_, toml, near) => {
    await using world = await openFrom(toml, scripted('unused'));
    await expect(world.agent.turn('hello')).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'config', fix: expect.stringContaining(near) },
    });
  });
});
