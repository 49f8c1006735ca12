// The manifests of docs/agents-of-every-protocol.md, each at a server of its protocol.

import { readFileSync } from 'node:fs';
import type { ManifestInput } from '@starloom/core';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import {
  RFC_PASSWORD,
  TOKEN,
  ZeroServer,
} from '../packages/adapters/test/fixtures/agent-zero-server.ts';
import { startRunServer } from '../packages/adapters/test/fixtures/run-server.ts';
import { codeBlocks } from './support/code-blocks.ts';
import { connect } from './support/connect.ts';
import { startGateway } from './support/start-gateway.ts';

const page = readFileSync(new URL('../docs/agents-of-every-protocol.md', import.meta.url), 'utf8');
const ENV = { BEE_KEY: 'k', AGENT_ZERO_TOKEN: TOKEN, AGENT_ZERO_RFC_PASSWORD: RFC_PASSWORD };

/** Calls the agent of a manifest, moved to where the test serves it. */
async function call(agentId: string, uri: string, capability: string, given: object) {
  const documented = codeBlocks(page)
    .filter(({ language }) => language === 'yaml')
    .flatMap(({ code }) => parse(code) as ManifestInput[])
    .find(({ agent_id }) => agent_id === agentId);
  if (!documented) throw new Error(`the page shows no agent ${agentId}`);
  const endpoint = { ...documented.endpoint, uri };
  await using gateway = await startGateway({ agents: [{ ...documented, endpoint }], env: ENV });
  await using client = await connect(gateway);
  const { structuredContent } = await client.callTool({
    name: 'fabric.call',
    arguments: { agent_id: agentId, capability, ...given },
  });
  expect(gateway.log.join('\n')).not.toContain(TOKEN);
  return structuredContent;
}

it('[G24] an agent of the Agent Communication Protocol', async () => {
  const keys: unknown[] = [];
  const server = await startRunServer({
    echo: async ({ input, part, headers }) => {
      keys.push(headers.authorization);
      part({ content_type: 'text/plain', content: `heard ${input[0]?.parts[0]?.content}` });
    },
  });
  onTestFinished(() => server.stop());
  const outcome = await call('bee', server.uri, 'echo', { task: 'hello' });
  expect(outcome).toMatchObject({ ok: true, result: { answer: 'heard hello' } });
  expect(keys).toEqual(['Bearer k']);
});

it('[G23] Agent Zero, and its remote functions', async () => {
  const zero = new ZeroServer(async ({ message, attachments }) =>
    message === '' ? JSON.stringify(attachments) : `heard ${message}`,
  );
  const { uri, stop } = await zero.start();
  onTestFinished(stop);
  const outcome = await call('zero', uri, 'ask', { task: 'hello' });
  expect(outcome).toMatchObject({ ok: true, result: { answer: 'heard hello' } });
  const read = await call('zero-files', uri, 'read_file', { arguments: { path: 'x' } });
  expect(read).toMatchObject({
    ok: true,
    result: { answer: '["helpers.rfc_files","read_file",{"path":"x"}]' },
  });
});
