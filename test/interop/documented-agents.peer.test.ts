// The manifests of docs/agents-of-every-protocol.md, run as they stand there.

import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ManifestInput } from '@starloom/core';
import { describeWithPeer, temporaryFolder } from '@starloom/testkit';
import { describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { codeBlocks } from '../support/code-blocks.ts';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { KEY, npm, writeCodexConfig } from './agent-home.ts';
import { startModelServer } from './model-server.ts';

const PAGE = await readFile(
  new URL('../../docs/agents-of-every-protocol.md', import.meta.url),
  'utf8',
);
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;

describe('the manifests of the page on agents of every protocol', () => {
  it('run a program of lines', async () => {
    const [program = ''] = blocks('js');
    const called = { capability: 'greet', task: 'Ada' };
    const files = { 'greeter.mjs': program };
    expect(await run('greeter', called, { PATH }, files)).toMatchObject({
      ok: true,
      result: { answer: 'Hello Ada' },
    });
  });

  it('run an editor agent by npx', async () => {
    expect(await runCodex('coder', 'prompt', PATH)).toMatchObject({
      ok: true,
      result: { answer: expect.stringContaining('pong from stub') },
    });
  });

  const { prepare } = npm('@openai/codex@0.166.0');
  describeWithPeer('with a command line', prepare, (modules) => {
    it('run it by its preset', async () => {
      const path = `${join(modules, '.bin')}:${PATH}`;
      expect(await runCodex('once', 'ask', path)).toMatchObject({
        ok: true,
        result: { answer: 'pong from stub' },
      });
    });
  });
});

async function runCodex(agentId: string, capability: string, path: string): Promise<unknown> {
  await using model = await startModelServer();
  await using home = await temporaryFolder();
  await writeCodexConfig(home.path, model.url, 'OPENAI_API_KEY');
  const env = { HOME: home.path, PATH: path, OPENAI_API_KEY: KEY };
  return await run(agentId, { capability, task: 'Ping.' }, env);
}

/** Calls the agent of a gateway that has its manifest alone. */
async function run(
  agentId: string,
  called: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  await using gateway = await startGateway({ agents: [manifestOf(agentId)], env });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(gateway.folder, name), text);
  }
  await using client = await connect(gateway);
  const call = async () => {
    const request = { name: 'fabric.call', arguments: { agent_id: agentId, ...called } };
    const { structuredContent } = await client.callTool(request, { timeout: 120_000 });
    // The first start by npx downloads the agent.
    expect(JSON.stringify(structuredContent)).not.toContain('not_discovered');
    return structuredContent;
  };
  return await vi.waitFor(call, { timeout: 150_000, interval: 1_000 });
}

function manifestOf(agentId: string): ManifestInput {
  const manifests = blocks('yaml').flatMap((code) => parse(code) as ManifestInput[]);
  const found = manifests.find(({ agent_id }) => agent_id === agentId);
  if (!found) throw new Error(`the page has no manifest of ${agentId}`);
  return found;
}

function blocks(language: string): string[] {
  return codeBlocks(PAGE).flatMap((block) => (block.language === language ? block.code : []));
}
