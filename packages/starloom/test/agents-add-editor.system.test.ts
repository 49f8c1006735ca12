import { EDITOR_AGENT_PRESETS } from '@starloom/adapters';
import { describe, expect, it } from 'vitest';
import { openWorld } from './agents-world.ts';

describe('starloom agents add --acp', () => {
  it('writes the manifest of an agent that is known by name, shows it, and names the login', async () => {
    await using world = await openWorld();
    const { code, stdout, stderr } = await world.run('agents', 'add', '--acp', 'gemini');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    const entry = `- agent_id: gemini
  endpoint:
    transport: stdio
    protocol: agent-client-protocol
    command: npx
    args: ["-y", "@google/gemini-cli@0.61.0", "--acp"]
    options:
      inherit_env: [GEMINI_API_KEY, GOOGLE_API_KEY, GOOGLE_CLOUD_PROJECT]
  trust_tier: org
`;
    expect(await world.agents()).toBe(entry);
    expect(stderr).toContain('"@google/gemini-cli@0.61.0"');
    expect(stderr).toMatch(/^login: log in with "gemini"/m);
    expect(stderr).toContain('starloom call gemini prompt "…"');
  });

  it('takes a name of your own, and writes what a gateway accepts, for each of them', async () => {
    await using world = await openWorld();
    const names = Object.keys(EDITOR_AGENT_PRESETS);
    expect(names).toEqual(
      expect.arrayContaining(['gemini', 'claude', 'codex', 'opencode', 'qwen', 'goose']),
    );
    for (const name of names) {
      const { code, stdout } = await world.run(
        'agents',
        'add',
        `my-${name}`,
        '--acp',
        name,
        '--json',
      );
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        agent: { agent_id: `my-${name}`, endpoint: { protocol: 'agent-client-protocol' } },
        login: expect.any(String),
      });
    }
    expect((await world.run('config', 'validate')).code).toBe(0);
  });

  it.each([
    [['--acp', 'gemni'], 2, /write --acp gemini/],
    [['--acp', 'my-own-thing'], 2, /--protocol agent-client-protocol -- <command>/],
    [['x', '--acp', 'gemini', '--', 'sh'], 64, /says itself how the agent is started/],
    [['--acp', 'gemini', '--protocol', 'mcp'], 64, /says itself what the agent speaks/],
    [[], 64, /name the agent, or choose one with --acp/],
  ])('refuses %j with a way out', async (args, code, words) => {
    await using world = await openWorld();
    const outcome = await world.run('agents', 'add', ...args);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toMatch(words);
  });
});
