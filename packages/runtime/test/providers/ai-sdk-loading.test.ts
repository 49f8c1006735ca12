import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@starloom/config';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBoundedFetch } from '../../src/providers/ai-sdk/load-model.ts';
import { openProvider } from '../../src/providers/index.ts';
import { ModelErrors } from '../../src/providers/model-error.ts';
import { startFakeModel } from './fake-model/fake-model.ts';
import { HOST } from './fixtures/open-subject.ts';
import { context, serveHttp } from './fixtures/raw-server.ts';

const MODEL = `{
  specificationVersion: 'v4', provider: 'file', modelId: 'm', supportedUrls: {},
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'from a file' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: { inputTokens: {}, outputTokens: {} },
  }),
  doStream: async () => { throw new Error('unused'); },
}`;

describe('the package of a model', () => {
  it('may be a file of the agent that exports a model, or makes one', async () => {
    const folder = await folderWith({
      'model.mjs': `export const model = ${MODEL};`,
      'factory.mjs': `export const createIt = () => ({ languageModel: () => (${MODEL}) });`,
    });
    for (const name of ['./model.mjs', './factory.mjs']) {
      const provider = await open({ package: name }, folder);
      const { segments } = await provider.generate('x', context());
      expect(segments).toEqual([{ type: 'text', text: 'from a file' }]);
    }
  });

  it.each([
    ['not_found', '@ai-sdk/not-installed', ''],
    ['not_found', './missing.mjs', ''],
    ['import_failed', './it.mjs', 'throw new Error("no");'],
    ['no_factory', './it.mjs', 'export const version = 1;'],
    [
      'many_factories',
      './it.mjs',
      'export const createA = () => 1; export const createB = () => 2;',
    ],
    ['no_api', './it.mjs', 'export const createA = () => ({});'],
    [
      'no_model',
      './it.mjs',
      'export const createA = () => ({ languageModel: () => ({ specificationVersion: "v2" }) });',
    ],
  ])(
    'a package that brings no model is refused with a fix: %s of %s',
    async (reason, name, source) => {
      const folder = await folderWith({ 'it.mjs': source });
      await expect(open({ package: name }, folder)).rejects.toMatchObject({
        code: 'BAD_INPUT',
        details: { package: name, reason, fix: expect.any(String) },
      });
    },
  );

  it('is refused before any question when its key is missing', async () => {
    await expect(open({ package: '@ai-sdk/anthropic' }, HOST.folder)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'missing_key', fix: expect.stringContaining('ANTHROPIC_API_KEY') },
    });
  });

  it('gets the key of the environment that the agent was given', async () => {
    await using model = await startFakeModel({ api: 'anthropic', script: ['Hi'], key: 'k-of-env' });
    const config = {
      kind: 'ai-sdk',
      package: '@ai-sdk/anthropic',
      model: 'claude',
      base_url: model.baseUrl,
    } as const;
    const provider = await openProvider(config, {
      ...HOST,
      env: { ANTHROPIC_API_KEY: 'k-of-env' },
    });
    expect((await provider.generate('x', context())).segments).toHaveLength(1);
  });

  it('gets settings, options and limits of the configuration', async () => {
    await using model = await startFakeModel({ api: 'openai-responses', script: ['Hi'] });
    const provider = await openProvider(
      {
        kind: 'ai-sdk',
        package: '@ai-sdk/openai',
        model: 'gpt-4o',
        base_url: model.baseUrl,
        api_key: new Secret('env:KEY', 'k'),
        settings: { headers: { 'x-team': 'blue' } },
        options: { openai: { user: 'percy' } },
        temperature: 0.5,
        max_tokens: 99,
      },
      HOST,
    );
    await provider.generate('x', context());
    expect(model.requests[0]?.headers['x-team']).toBe('blue');
    expect(model.requests[0]?.body).toMatchObject({
      user: 'percy',
      store: false,
      temperature: 0.5,
      max_output_tokens: 99,
    });
  });

  it('stores nothing at a vendor unless the configuration says so', async () => {
    await using model = await startFakeModel({ api: 'openai-responses', script: ['Hi'] });
    const config = {
      kind: 'ai-sdk',
      package: '@ai-sdk/openai',
      model: 'gpt-5',
      base_url: model.baseUrl,
      api_key: new Secret('env:KEY', 'k'),
    } as const;
    await (await openProvider(config, HOST)).generate('x', context());
    expect(model.requests[0]?.body).toMatchObject({ store: false });
  });
});

describe('an answer that does not end', () => {
  it('is cut off at its limit, and the service is left', async () => {
    const { port, sockets } = await serveHttp((_request, response) => {
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        response.once('drain', pour);
      };
      pour();
    });
    const fetch = createBoundedFetch(new ModelErrors('any'), 1_000_000);
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await expect(response.text()).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' });
    await expect.poll(() => sockets.size, { timeout: 10_000 }).toBe(0);
  });
});

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-model-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

function open(config: { package: string }, folder: string) {
  return openProvider({ kind: 'ai-sdk', model: 'm', ...config }, { ...HOST, folder });
}
