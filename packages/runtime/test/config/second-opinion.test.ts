import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { problemsOf } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { loadAgentConfig, openAgent } from '../../src/index.ts';
import { callTools, scripted, tool } from '../core/world.ts';

const read = tool('test:read', () => 'notes of somebody', { untrusted: true });
const deploy = tool('test:deploy', () => 'deployed', { effect: 'act' });

/** What becomes of an act that the user did not name, after foreign words were read. */
async function deployWith(second: string): Promise<boolean> {
  await using folder = await temporaryFolder();
  const agent = { name: 'careful', provider: { kind: 'plugin', name: 'test' } };
  await writeFile(join(folder.path, 'agent.json'), JSON.stringify(agent));
  await writeFile(join(folder.path, 'agent.toml'), second);
  const calls = [callTools({ name: 'test:read' }), callTools({ name: 'test:deploy' })];
  await using opened = await openAgent({
    path: folder.path,
    provider: scripted(...calls, 'Done.'),
    tools: [read, deploy],
  });
  let isDeployed = false;
  await opened.turn('Read the notes, then tell me what is next.', {
    onEvent: ({ type, data }) => {
      if (type === 'EXEC:TOOL_RESULT' && data.call.name === 'test:deploy') {
        isDeployed = data.result.isError !== true;
      }
    },
  });
  return isDeployed;
}

const opinion = (word: string) =>
  `[security.second_opinion]\nprovider = { kind = "scripted", script = ["${word}"], cycle = true }\n`;

describe('the second model of agent.toml', () => {
  it.each([
    ['says yes', opinion('YES'), true],
    ['says no', opinion('NO'), false],
    ['is not there', '', false],
  ])('where it %s, a call that somebody would be asked about', async (_, toml, expected) => {
    expect(await deployWith(toml)).toBe(expected);
  });

  it('finds its key as any provider does, and shows the reference only', async () => {
    await using folder = await temporaryFolder();
    const agent = { name: 'careful', provider: { kind: 'scripted', script: ['Hi.'] } };
    await writeFile(join(folder.path, 'agent.json'), JSON.stringify(agent));
    const provider =
      'kind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n';
    const toml = `[security.second_opinion]\nseconds = 5\n[security.second_opinion.provider]\n${provider}`;
    await writeFile(join(folder.path, 'agent.toml'), `${toml}api_key = "env:KEY"\n`);
    const loaded = await loadAgentConfig(folder.path, { KEY: 'sk-secret' });
    const second = loaded.toml.security.second_opinion;
    expect(second).toMatchObject({ seconds: 5, provider: { model: 'm' } });
    expect(JSON.stringify(second)).not.toContain('sk-secret');
    const missing = await loadAgentConfig(folder.path, {}).catch((error: unknown) => error);
    expect(problemsOf(missing)).toMatchObject([
      { key: 'security.second_opinion.provider.api_key' },
    ]);
  });
});
