// The manifests of docs/agents-of-every-protocol.md, run as they stand there.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ManifestInput } from '@starloom/core';
import { describeWithPeer, prepareNpm, temporaryFolder } from '@starloom/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { codeBlocks } from '../support/code-blocks.ts';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { startModelServer } from './model-server.ts';

const PAGE = await readFile(
  new URL('../../docs/agents-of-every-protocol.md', import.meta.url),
  'utf8',
);

describe('the manifests of the page on agents of every protocol', () => {
  const stack = { current: new AsyncDisposableStack() };
  afterEach(async () => {
    await stack.current.disposeAsync();
    stack.current = new AsyncDisposableStack();
  });

  const run = async (
    agentId: string,
    given: Record<string, unknown>,
    env: Record<string, string> = {},
    files: Record<string, string> = {},
  ) => {
    const { use } = stack.current;
    const add = use.bind(stack.current) as <T extends AsyncDisposable>(value: T) => T;
    const gateway = add(await startGateway({ agents: [], env }));
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(gateway.folder, name), text);
    }
    await writeFile(join(gateway.folder, 'agents.yaml'), JSON.stringify([manifestOf(agentId)]));
    const client = add(await connect(gateway));
    return expect.poll(
      async () => {
        const { structuredContent } = await client.callTool(
          { name: 'fabric.call', arguments: { agent_id: agentId, ...given } },
          { timeout: 120_000 },
        );
        return structuredContent;
      },
      { timeout: 120_000, interval: 500 },
    );
  };

  it('a program of lines', async () => {
    const [program = ''] = blocks('js');
    const answered = await run(
      'greeter',
      { capability: 'greet', task: 'Ada' },
      { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
      { 'greeter.mjs': program },
    );
    await answered.toMatchObject({ ok: true, result: { answer: 'Hello Ada' } });
  });

  it('an editor agent by npx', async () => {
    const model = stack.current.use(await startModelServer());
    const answered = await run(
      'coder',
      { capability: 'prompt', task: 'Ping.' },
      await home(model.url),
    );
    await answered.toMatchObject({ ok: true, result: { answer: expect.stringContaining('pong') } });
  });

  describeWithPeer(
    'a command line',
    () => prepareNpm(['@openai/codex@0.166.0']),
    (modules) => {
      it('by its preset', async () => {
        const model = stack.current.use(await startModelServer());
        const place = await home(model.url);
        const env = { ...place, PATH: `${join(modules, '.bin')}:${place.PATH}` };
        const answered = await run('once', { capability: 'ask', task: 'Ping.' }, env);
        await answered.toMatchObject({ ok: true, result: { answer: 'pong from stub' } });
      });
    },
  );

  /** A home in which codex finds its model on our server. */
  async function home(
    model: string,
  ): Promise<{ HOME: string; PATH: string; OPENAI_API_KEY: string }> {
    const folder = stack.current.use(await temporaryFolder()).path;
    await mkdir(join(folder, '.codex'));
    const provider = `base_url = "${model}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"`;
    await writeFile(
      join(folder, '.codex/config.toml'),
      `model = "stub"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n${provider}\n`,
    );
    const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
    return { HOME: folder, PATH, OPENAI_API_KEY: 'not-a-key' };
  }
});

function manifestOf(agentId: string): ManifestInput {
  const manifests = blocks('yaml').flatMap((code) => parse(code) as ManifestInput[]);
  const found = manifests.find(({ agent_id }) => agent_id === agentId);
  if (!found) throw new Error(`the page has no manifest of ${agentId}`);
  return found;
}

function blocks(language: string): string[] {
  return codeBlocks(PAGE).flatMap((block) => (block.language === language ? block.code : []));
}
