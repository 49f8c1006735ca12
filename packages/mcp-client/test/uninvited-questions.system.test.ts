import { silentLog } from '@starloom/core';
import { createExcerpt } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { McpClient, stdioTransports } from '../src/index.ts';

/** An older server that asks as soon as two calls run, and answers each call with its process id. */
const SERVER = `
  import { createInterface } from 'node:readline';
  const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const open = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params, result } = JSON.parse(line);
    if (method === 'initialize') {
      const serverInfo = { name: 'asker', version: '1' };
      const { protocolVersion } = params;
      say({ id, result: { protocolVersion, serverInfo, capabilities: { tools: {} } } });
    } else if (method === 'tools/call') {
      open.push(id);
      if (open.length < 2) continue;
      say({ id: 'ask', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: {} } });
    } else if (id === 'ask') {
      const text = JSON.stringify({ pid: process.pid, answer: result });
      for (const call of open.splice(0)) say({ id: call, result: { content: [{ type: 'text', text }] } });
    } else if (method !== undefined && id !== undefined) {
      say({ id, error: { code: -32601, message: 'unknown' } });
    }
  }
`;

describe('a server that asks although nothing was declared', () => {
  it('gets a cancellation, and still one process for all calls', async () => {
    const client = new McpClient({
      source: stdioTransports({
        command: process.execPath,
        args: ['--input-type=module', '--eval', SERVER],
        env: {},
        maxMessageBytes: 1_048_576,
        excerpt: createExcerpt({}),
        log: silentLog,
      }),
      info: { name: 'test', version: '1' },
      capabilities: {},
      connectTimeoutMs: 30_000,
      log: silentLog,
    });
    const signal = AbortSignal.timeout(30_000);
    const call = async () => {
      const { content } = await client.callTool('any', {}, { signal });
      return JSON.parse((content as { text: string }[])[0]?.text ?? '');
    };
    try {
      const first = await Promise.all([call(), call()]);
      const second = await Promise.all([call(), call()]);
      const all = [...first, ...second];
      expect(new Set(all.map(({ pid }) => pid)).size).toBe(1);
      expect(all.map(({ answer }) => answer)).toEqual(all.map(() => ({ action: 'cancel' })));
    } finally {
      await client.close();
    }
  });
});
