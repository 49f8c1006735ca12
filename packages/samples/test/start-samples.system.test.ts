import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { manifestSchema, silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { sampleManifests, startSamples } from '../src/start-samples.ts';
import { childrenWith } from './fixtures/children.ts';
import { openAgent } from './fixtures/open-agent.ts';

const SCRIPTS = 'samples/src/';

describe('the manifests of the samples', () => {
  const [percyUrl, librarianUrl] = ['http://127.0.0.1:1/mcp', 'http://127.0.0.1:2/librarian'];
  const manifests = sampleManifests('/project', percyUrl, librarianUrl);
  const parsed = manifests.map((manifest) => manifestSchema.parse(manifest));

  it('say what each does, how far it is trusted and who stands in for it', () => {
    const summary = parsed.map(({ agent_id, trust_tier, fallbacks, capabilities }) => [
      agent_id,
      trust_tier,
      fallbacks,
      capabilities?.map(({ name }) => name),
    ]);
    expect(summary).toEqual([
      ['percy', 'local', ['percy-backup'], ['reason']],
      ['percy-backup', 'local', [], ['reason']],
      ['coder', 'local', [], ['code']],
      ['librarian', 'local', [], ['lookup']],
      ['flaky', 'partner', ['percy-backup'], ['reason']],
    ]);
  });

  it('describe every agent, with a schema of what it takes', () => {
    for (const { description, tags, capabilities } of parsed) {
      expect(description).toBeTruthy();
      expect(tags).toContain('sample');
      expect(capabilities?.[0]).toMatchObject({
        streaming: true,
        input_schema: { type: 'object' },
      });
    }
  });

  it('survive being written as JSON', () => {
    expect(JSON.parse(JSON.stringify(manifests))).toEqual(manifests);
  });
});

describe('the samples', () => {
  it('come back when one is killed, and leave no process when they are stopped', async () => {
    await using folder = await temporaryFolder();
    await using samples = await startSamples({ folder: folder.path, log: silentLog });
    const [percy] = samples.manifests;
    if (percy === undefined) throw new Error('there are no samples');
    expect(childrenWith(SCRIPTS)).toHaveLength(2);

    const [killed = 0] = childrenWith('main.ts percy ');
    process.kill(killed, 'SIGKILL');
    const url = percy.endpoint.uri ?? '';
    await expect.poll(() => childrenWith('main.ts percy ')).not.toEqual([killed]);
    await expect.poll(() => fetch(url).catch(() => false), { timeout: 15_000 }).toBeTruthy();
    {
      await using agent = await openAgent(percy);
      const { result } = await agent.call('Are you back?');
      expect(result?.answer).toContain('Are you back?');
    }

    await samples.stop();
    expect(childrenWith(SCRIPTS)).toEqual([]);
  });

  it('reject when a port is taken, naming the agent, and leave nothing running', async () => {
    await using folder = await temporaryFolder();
    const server = createServer().listen(0, '127.0.0.1');
    await expect.poll(() => server.listening).toBe(true);
    const { port } = server.address() as AddressInfo;
    const starting = startSamples({ folder: folder.path, log: silentLog, ports: { percy: port } });
    await expect(starting).rejects.toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { agent_id: 'percy', stderr: expect.stringContaining('EADDRINUSE') },
    });
    expect(childrenWith(SCRIPTS)).toEqual([]);
    server.close();
  });
});
