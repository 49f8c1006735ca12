import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { silentLog } from '@starloom/core';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Samples, startSamples } from '../src/index.ts';
import { type OpenAgent, type Outcome, openAgent } from './fixtures/open-agent.ts';

const TEXT = 'Why do agents need a fabric? They talk past each other, always.';

let folder: TemporaryFolder;
let samples: Samples;
const agents = new Map<string, OpenAgent>();

beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder.path, 'docs'));
  await writeFile(join(folder.path, 'docs/loom.md'), '# Loom\n\nThe shuttle carries the thread.');
  await writeFile(join(folder.path, 'loom.py'), 'def weave():\n    return 1  # TODO: weave\n');
  samples = await startSamples({ folder: folder.path, log: silentLog });
  for (const manifest of samples.manifests) {
    agents.set(manifest.agent_id, await openAgent(manifest));
  }
});

afterAll(async () => {
  for (const agent of agents.values()) await agent[Symbol.asyncDispose]();
  await samples.stop();
  await folder[Symbol.asyncDispose]();
});

function agent(agentId: string): OpenAgent {
  const found = agents.get(agentId);
  if (!found) throw new Error(`no sample is called ${agentId}`);
  return found;
}

function percents({ events }: Outcome): number[] {
  return events.flatMap((event) => (event.type === 'progress' ? (event.data.percent ?? []) : []));
}

describe.each(['percy', 'percy-backup'])('%s through the MCP adapter', (agentId) => {
  it('streams word by word with progress, and answers with structured data', async () => {
    const outcome = await agent(agentId).call(TEXT);
    const { events, text, result } = outcome;
    expect(events.filter(({ type }) => type === 'token').length).toBeGreaterThan(20);
    expect(percents(outcome)).toEqual([0, 25, 50, 75, 100]);
    expect(result?.answer).toBe(text);
    expect(result?.data).toMatchObject({
      counts: { sentences: 2 },
      questions: ['Why do agents need a fabric?'],
    });
  });

  it('refuses an empty text', async () => {
    const { error } = await agent(agentId).call('', { arguments: { task: '' } });
    expect(error).toBeDefined();
  });
});

describe('percy', () => {
  it('also serves clients of older revisions that ask for no progress', async () => {
    const [percy] = samples.manifests;
    const client = new Client({ name: 'test', version: '0.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(percy?.endpoint.uri ?? '')));
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['reason']);
    const result = await client.callTool({ name: 'reason', arguments: { task: TEXT } });
    expect(result.structuredContent).toMatchObject({ counts: { sentences: 2 } });
  });
});

describe('coder through the local-process adapter', () => {
  it('reports on a file of its folder, with the tool call it made', async () => {
    const { result, text } = await agent('coder').call('', {
      arguments: { path: 'loom.py' },
    });
    expect(result?.answer).toBe(text);
    expect(result?.tool_calls).toMatchObject([{ name: 'read_file', result: { bytes: 41 } }]);
    expect(result?.data).toMatchObject({
      language: 'Python',
      functions: { total: 1 },
      todos: [{ line: 2, text: 'TODO: weave' }],
    });
  });

  it('refuses a file outside of its folder', async () => {
    const { error } = await agent('coder').call('../../etc/passwd.py');
    expect(error?.code).toBe('POLICY_DENIED');
  });
});

describe('librarian through the http adapter', () => {
  it.each([true, false])('answers with citations (streaming: %s)', async (stream) => {
    const { events, result } = await agent('librarian').call('shuttle', { stream });
    expect(events.some(({ type }) => type === 'token')).toBe(stream);
    expect(result?.answer).toContain('The shuttle carries the thread.');
    expect(result?.citations).toEqual([
      { title: 'Loom', uri: 'docs/loom.md#loom', text: 'The shuttle carries the thread.' },
    ]);
  });

  it('refuses arguments that do not fit', async () => {
    const { error } = await agent('librarian').call('shuttle', {
      arguments: { task: 'shuttle', limit: 1_000 },
    });
    expect(error?.code).toBe('BAD_INPUT');
  });
});

describe('flaky through the local-process adapter', () => {
  it.each([
    ['error', 'UPSTREAM_ERROR'],
    ['die', 'UPSTREAM_ERROR'],
    ['garbage', 'UPSTREAM_ERROR'],
  ])('asked to %s, fails after it began well', async (mode, code) => {
    const { text, error, result } = await agent('flaky').call(`${mode}, please`);
    expect(text).toContain('I have almost got it');
    expect(error?.code).toBe(code);
    expect(result).toBeUndefined();
  });

  it('asked to hang, says nothing more, and the caller can leave', async () => {
    const { result, error } = await agent('flaky').call('hang', { leaveEarly: true });
    expect({ result, error }).toEqual({ result: undefined, error: undefined });
  });
});
