// What docs/recipes/write-an-agent.md shows is what the files say, fits the schemas, and runs.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  agentsFileSchema,
  type EventBody,
  envelopeSchema,
  eventBodySchema,
  isErrorCode,
  type ManifestInput,
} from '@starloom/core';
import { freePort, requireProgram } from '@starloom/testkit';
import { spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openAgent } from './fixtures/open-agent.ts';

const RECIPES = new URL('../recipes/', import.meta.url);
const DOCUMENT = readFileSync(
  new URL('../../../docs/recipes/write-an-agent.md', import.meta.url),
  'utf8',
);

const BLOCK =
  /^(?:\[`[^`]+`\]\(\S*\/recipes\/(?<file>[\w.-]+)\)\n\n)?```(?<kind>\w+)\n(?<text>[\s\S]*?)^```$/gm;
const blocks = [...DOCUMENT.matchAll(BLOCK)].map(({ groups }) => ({
  file: groups?.file,
  kind: groups?.kind,
  text: groups?.text ?? '',
}));

function textsOf(kind: string): string[] {
  return blocks.flatMap((block) => (block.kind === kind ? block.text : []));
}

const manifests = textsOf('yaml').map((text): unknown => parse(text));

function manifestWith(transport: string): ManifestInput {
  const all = manifests.flatMap((list) => agentsFileSchema.parse(list));
  const found = all.find(({ endpoint }) => endpoint.transport === transport);
  if (!found) throw new Error(`the recipe shows no manifest with transport ${transport}`);
  return found;
}

function recipePath(name: string): string {
  return fileURLToPath(new URL(name, RECIPES));
}

function withArgs(manifest: ManifestInput): ManifestInput {
  const args = manifest.endpoint.args?.map(recipePath) ?? [];
  return { ...manifest, endpoint: { ...manifest.endpoint, args } };
}

const HELLO = 'hello there';

function tokens(events: readonly EventBody[]): string[] {
  return events.flatMap((event) => (event.type === 'token' ? event.data.text.trim() : []));
}

describe('the recipe for an agent', () => {
  it('shows three files as they are', () => {
    const shown = blocks.filter(({ file }) => file !== undefined);
    expect(shown.map(({ file }) => file)).toEqual(['shout.py', 'shout-mcp.mjs', 'shout-http.mjs']);
    for (const { file = '', text } of shown) {
      expect(text).toBe(readFileSync(recipePath(file), 'utf8'));
    }
  });

  it('shows an envelope, events and an error that fit the schemas', () => {
    const [envelope = '', error = ''] = textsOf('json');
    expect(envelopeSchema.safeParse(JSON.parse(envelope)).error).toBeUndefined();
    expect(isErrorCode(JSON.parse(error).error.code)).toBe(true);
    const events = textsOf('jsonl').flatMap((text) => text.trim().split('\n'));
    const parsed = events.map((line) => eventBodySchema.parse(JSON.parse(line)));
    expect(new Set(parsed.map(({ type }) => type)).size).toBe(6);
  });

  it('shows manifests that are valid', () => {
    expect(manifests).toHaveLength(3);
    for (const list of manifests) expect(agentsFileSchema.safeParse(list).error).toBeUndefined();
  });

  it('works for a local process in Python', async () => {
    const python = await requireProgram({ names: ['python3'], package: 'python3' });
    expect(python).toMatchObject({ found: true });
    await using agent = await openAgent(withArgs(manifestWith('process')));
    const { events, result } = await agent.call(HELLO);
    expect(tokens(events)).toEqual(['HELLO', 'THERE']);
    expect(result?.answer).toBe('HELLO THERE');
  });

  it('works for an MCP server', async () => {
    await using agent = await openAgent(withArgs(manifestWith('stdio')));
    const { events, result } = await agent.call(HELLO);
    expect(tokens(events)).toEqual(['HELLO', 'THERE']);
    expect(result?.answer).toBe('HELLO THERE');
  });

  it('works for an HTTP agent, streaming or not', async () => {
    const port = await freePort();
    await using _server = await spawnProcess({
      command: process.execPath,
      args: [recipePath('shout-http.mjs')],
      env: { PORT: String(port) },
    });
    const uri = `http://127.0.0.1:${port}/shout`;
    await expect
      .poll(() => fetch(`${uri}/health`).catch(() => undefined))
      .toMatchObject({ ok: true });
    const manifest = manifestWith('http');
    await using agent = await openAgent({ ...manifest, endpoint: { ...manifest.endpoint, uri } });
    expect(tokens((await agent.call(HELLO)).events)).toEqual(['HELLO', 'THERE']);
    const whole = await agent.call(HELLO, { stream: false });
    expect(whole.events.map(({ type }) => type)).toEqual(['final']);
    expect(whole.result?.answer).toBe('HELLO THERE');
  });
});
