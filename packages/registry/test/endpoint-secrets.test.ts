import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { resolveEndpoint } from '../src/index.ts';
import { createWorld } from './fixtures/world.ts';

const SECRET = 'Bearer value-of-the-secret';
const withHeaders = (headers: Record<string, string>) =>
  exampleManifest({ endpoint: { transport: 'http', uri: 'https://a.example/', headers } });

describe('secrets of an endpoint', () => {
  it('are looked up for the adapter only, and the manifest keeps the references', async () => {
    const manifest = exampleManifest({
      endpoint: {
        transport: 'stdio',
        command: 'agent',
        env: { TOKEN: 'env:AGENT_TOKEN', MODE: 'fast' },
        headers: { 'x.y': 'env:AGENT_TOKEN' },
      },
    });
    const before = structuredClone(manifest);
    const resolved = await resolveEndpoint(manifest, { AGENT_TOKEN: SECRET });
    expect(resolved.endpoint).toEqual({
      ...manifest.endpoint,
      env: { TOKEN: SECRET, MODE: 'fast' },
      headers: { 'x.y': SECRET },
    });
    expect(manifest).toEqual(before);
  });

  it('leave a manifest without secrets as it is', async () => {
    const manifest = exampleManifest();
    expect(await resolveEndpoint(manifest, {})).toBe(manifest);
  });

  it('stand behind the scheme of a header as well', async () => {
    const manifest = withHeaders({ Authorization: 'Bearer env:TOKEN', 'X-Note': 'see env: below' });
    const { endpoint } = await resolveEndpoint(manifest, { TOKEN: 'abc' });
    expect(endpoint.headers).toEqual({ Authorization: 'Bearer abc', 'X-Note': 'see env: below' });
    await expect(resolveEndpoint(manifest, {})).rejects.toMatchObject({
      details: { settings: ['headers.Authorization'] },
    });
  });

  it('are looked up among the options of oauth as well', async () => {
    const oauth = { client_id: 'me', client_secret: 'env:CLIENT_SECRET', timeout_ms: 5 };
    const manifest = exampleManifest({
      endpoint: {
        transport: 'http',
        uri: 'https://a.example/',
        options: { oauth, connections: 2 },
      },
    });
    const { endpoint } = await resolveEndpoint(manifest, { CLIENT_SECRET: SECRET });
    expect(endpoint.options).toEqual({
      oauth: { client_id: 'me', client_secret: SECRET, timeout_ms: 5 },
      connections: 2,
    });
    await expect(resolveEndpoint(manifest, {})).rejects.toMatchObject({
      details: { settings: ['oauth.client_secret'] },
    });
  });

  it('make the agent unreachable when one is missing, in words that fit a caller', async () => {
    const manifest = withHeaders({ Authorization: 'env:NOT_SET', 'X-Key': 'file:/nowhere/key' });
    const error = await resolveEndpoint(manifest, {}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      message: expect.stringContaining('headers.Authorization, headers.X-Key'),
      details: {
        reason: 'secret_missing',
        agent_id: 'subject',
        settings: ['headers.Authorization', 'headers.X-Key'],
        sent: false,
      },
    });
    expect(JSON.stringify(error)).not.toMatch(/NOT_SET|nowhere/);
  });

  it('in files are found beside agents.yaml, wherever the process runs', async () => {
    await using world = await createWorld(`- agent_id: percy
  endpoint: {transport: http, uri: 'https://a.example/', headers: {Authorization: file:keys/percy}}
`);
    await mkdir(join(world.folder, 'keys'));
    await writeFile(join(world.folder, 'keys/percy'), `${SECRET}\n`);
    await chmod(join(world.folder, 'keys/percy'), 0o600);
    const registry = await world.open();
    const percy = registry.get('percy')?.manifest;
    if (!percy) return expect.fail('percy is not there');
    const { endpoint } = await resolveEndpoint(percy, {});
    expect(endpoint.headers).toEqual({ Authorization: SECRET });
    expect(await registry.reload()).toEqual({ ok: true, changed: [] });
  });

  it('appear in no list, no status and no log', async () => {
    await using world = await createWorld(`- agent_id: percy
  endpoint: {transport: http, uri: 'https://a.example/', headers: {Authorization: env:TOKEN}}
- agent_id: lost
  endpoint: {transport: http, uri: 'https://a.example/', headers: {Authorization: env:NOT_SET}}
`);
    const registry = await world.open({ env: { TOKEN: SECRET } });
    const shown = JSON.stringify([registry.list(), registry.status(), world.lines]);
    expect(shown).not.toContain('value-of-the-secret');
    const warnings = world.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ fields }) => fields)).toMatchObject([
      { agent_id: 'lost', problems: [expect.stringContaining('the variable NOT_SET is not set')] },
    ]);
  });
});
