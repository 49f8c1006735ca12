import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, toConfigJsonSchema } from '@starloom/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openProvider, providerSchema } from '../../src/providers/index.ts';
import { HOST } from './fixtures/open-subject.ts';

describe('the configuration of a provider', () => {
  it('is read from agent.json and opened', async () => {
    const text = { kind: 'scripted', script: ['Hello', [{ type: 'text', text: 'Bye' }]] };
    const { value } = await load({ provider: text });
    const provider = await openProvider(value, HOST);
    const { segments } = await provider.generate('Hi', { tools: new Map() });
    expect(segments).toEqual([{ type: 'text', text: 'Hello' }]);
  });

  it('takes a key by reference only', async () => {
    const given = { kind: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1', model: 'any' };
    const { value } = await load({ provider: { ...given, api_key: 'env:KEY' } }, { KEY: 'k-1' });
    expect(value.kind === 'openai-compatible' && value.api_key?.reveal()).toBe('k-1');
    await expect(load({ provider: { ...given, api_key: 'sk-1234' } })).rejects.toMatchObject({
      code: 'BAD_INPUT',
    });
  });

  it.each([
    ['an unknown kind', { kind: 'oracle' }],
    ['an unknown key', { kind: 'scripted', script: ['x'], skript: [] }],
    ['an empty script', { kind: 'scripted', script: [] }],
    ['a segment of no kind', { kind: 'scripted', script: [[{ type: 'smell' }]] }],
    ['an address that is none', { kind: 'openai-compatible', base_url: 'localhost', model: 'm' }],
    ['another scheme', { kind: 'openai-compatible', base_url: 'file:///etc', model: 'm' }],
    ['no model', { kind: 'ai-sdk', package: '@ai-sdk/openai' }],
  ])('is refused with %s', async (_, provider) => {
    await expect(load({ provider })).rejects.toMatchObject({ code: 'BAD_INPUT' });
  });

  it('has a JSON Schema', () => {
    expect(
      JSON.stringify(toConfigJsonSchema(providerSchema, { name: 'provider', title: 'A provider' })),
    ).toContain('openai-compatible');
  });
});

/** As the runtime reads it: through the loader, frozen, secrets resolved. */
async function load({ provider }: { provider: object }, env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-provider-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'provider.json');
  await writeFile(path, JSON.stringify(provider));
  return loadConfig({ path, schema: providerSchema, env });
}
