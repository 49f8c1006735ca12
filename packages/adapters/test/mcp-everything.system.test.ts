import { createRequire } from 'node:module';
import { type Adapter, silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { runCall } from './fixtures/run-call.ts';

const SERVER = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);

describe('the reference server "everything" as an agent', () => {
  let adapter: Adapter;
  beforeAll(async () => {
    const endpoint = {
      transport: 'stdio' as const,
      command: process.execPath,
      args: [SERVER, 'stdio'],
    };
    adapter = await createMcpAdapter({
      manifest: exampleManifest({ endpoint, capabilities: [] }),
      log: silentLog,
    });
  });
  afterAll(() => adapter.close());

  const call = (capability: string, task: string, given?: Record<string, unknown>) =>
    runCall(adapter, task, {
      target: { agent_id: 'subject', capability },
      input: given ? { task, arguments: given } : { task },
    });

  it('describes its tools with their schemas', async () => {
    const context = { signal: new AbortController().signal, log: silentLog };
    const { capabilities } = await adapter.describe(context);
    const echo = capabilities.find(({ name }) => name === 'echo');
    expect(echo?.input_schema).toMatchObject({ type: 'object', required: ['message'] });
    expect(capabilities.length).toBeGreaterThan(5);
    expect((await adapter.health(context)).status).toBe('online');
  });

  it('echoes a task that it calls a message', async () => {
    expect((await call('echo', 'hello there')).result?.answer).toContain('hello there');
  });

  it('adds two numbers', async () => {
    expect((await call('get-sum', '', { a: 2, b: 3 })).result?.answer).toContain('5');
  });

  it('gives structured content', async () => {
    const { result } = await call('get-structured-content', '', { location: 'New York' });
    expect(result?.data).toMatchObject({ temperature: expect.any(Number) });
  });

  it('tells of the progress of long operations, also of the last step', async () => {
    const given = { duration: 0.2, steps: 4 };
    const { events } = await call('trigger-long-running-operation', '', given);
    const percents = events.flatMap((event) =>
      event.type === 'progress' ? (event.data.percent ?? []) : [],
    );
    expect(percents).toEqual([25, 50, 75, 100]);
  });
});
