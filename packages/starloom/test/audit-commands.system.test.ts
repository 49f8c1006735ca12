import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditFiles } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { AGENTS, startGateway } from './running-gateway.ts';

/** Past the command line, which looks for the agent first. */
async function callUnknown(url: string, home: string): Promise<void> {
  const { key } = JSON.parse(await readFile(join(home, 'client.json'), 'utf8'));
  const params = { name: 'fabric.call', arguments: { agent_id: 'nobody', capability: 'say' } };
  await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
}

const WANTING = AGENTS.replace('trust_tier: local', 'trust_tier: local\n  auth: { mandate: true }');

describe('starloom audit', () => {
  it('shows who called what, and finds what was changed, also while the gateway runs', async () => {
    await using gateway = await startGateway({ 'agents.yaml': WANTING });
    await gateway.run('call', 'echo', 'say', 'hello');
    await callUnknown(gateway.url, gateway.home);
    await fetch(`${gateway.url}/mcp`, { headers: { authorization: 'Bearer wrong' } });
    const shown = async () => (await gateway.run('audit', 'show')).stdout;
    await expect.poll(shown).toContain('denied a psk: unknown_key');
    const story = await shown();
    expect(story).toMatch(/allow {2}local → echo\/say/);
    expect(story).toMatch(/mint {3}local for local → echo {2}depth 1 {2}echo\/say/);
    expect(story).toMatch(/deny {2}local → nobody\/say {2}CAPABILITY_NOT_FOUND/);
    const verify = async () => {
      const { code, stdout } = await gateway.run('audit', 'verify', '--json');
      return { code, ...JSON.parse(stdout) };
    };
    expect(await verify()).toMatchObject({ code: 0, intact: true, files: 1, problems: [] });
    await gateway.stop();
    expect(await verify()).toMatchObject({ code: 0, intact: true, open: [], unsealed: 0 });
    const folder = join(gateway.home, 'audit');
    const [name = ''] = await auditFiles(folder);
    const text = await readFile(join(folder, name), 'utf8');
    await writeFile(join(folder, name), text.replace('nobody', 'echo'));
    expect(await verify()).toMatchObject({ code: 1, intact: false });
    expect((await gateway.run('audit', 'verify')).stdout).toContain('broken_chain');
  });

  it('verifies the signed decisions of agents too', async () => {
    await using gateway = await startGateway();
    const exec = await gateway.run('agent', 'init', 'helper');
    expect(exec.code).toBe(0);
    const turn = await gateway.run('agent', 'exec', '/list .', '--agent', 'helper');
    const { stdout } = await gateway.run('audit', 'verify', '--json');
    expect(turn.code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ intact: true, files: 2 });
    const folder = join(gateway.home, 'agents', 'helper', 'decisions');
    const [name = ''] = await auditFiles(folder);
    const text = await readFile(join(folder, name), 'utf8');
    await writeFile(join(folder, name), text.replace('"executed"', '"denied"'));
    const after = await gateway.run('audit', 'verify', join(folder, name), '--json');
    expect([after.code, JSON.parse(after.stdout).intact]).toEqual([1, false]);
  });
});
