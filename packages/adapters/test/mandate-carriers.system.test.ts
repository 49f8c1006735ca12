import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Adapter,
  type EventBody,
  type ManifestInput,
  manifestSchema,
  parseEnvelope,
  silentLog,
} from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { postHeaders } from '@starloom/mcp-client';
import { describe, expect, it } from 'vitest';
import { openAdapter } from '../src/index.ts';
import { toToolCall } from '../src/mcp/translate.ts';

const MANDATE = 'eyJhbGciOiJFZDI1NTE5In0.e30.c2ln';
const envelope = parseEnvelope(exampleEnvelope('echo'));

async function run(adapter: Adapter, mandate?: string): Promise<EventBody[]> {
  const context = { signal: new AbortController().signal, log: silentLog, mandate };
  const events: EventBody[] = [];
  for await (const event of adapter.call(envelope, context)) events.push(event);
  await adapter.close();
  return events;
}

function open(endpoint: ManifestInput['endpoint']): Promise<Adapter> {
  const manifest = manifestSchema.parse({
    agent_id: envelope.target.agent_id,
    endpoint,
    capabilities: [{ name: envelope.target.capability }],
  });
  return openAdapter({ manifest, log: silentLog }, { baseFolder: tmpdir() });
}

describe('[G13] a mandate', () => {
  it('reaches an HTTP agent as X-Agent-Mandate, and only where there is one', async () => {
    const seen: (string | string[] | undefined)[] = [];
    const server = createServer((request: IncomingMessage, response) => {
      seen.push(request.headers['x-agent-mandate']);
      request.resume();
      response.setHeader('content-type', 'application/json');
      response.end('{"answer":"ok"}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const uri = `http://127.0.0.1:${port}/`;
    await run(await open({ transport: 'http', protocol: 'http', uri }), MANDATE);
    await run(await open({ transport: 'http', protocol: 'http', uri }));
    expect(seen).toEqual([MANDATE, undefined]);
    server.close();
  });

  it('reaches an MCP agent as _meta and header', () => {
    const params = toToolCall({}, envelope, { mandate: MANDATE });
    expect(params._meta).toMatchObject({ 'io.starloom/mandate': MANDATE });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as const;
    const session = { sessionId: undefined, protocolVersion: undefined };
    expect(postHeaders({}, {}, message, session)).toMatchObject({ 'x-agent-mandate': MANDATE });
    expect(JSON.stringify(toToolCall({}, envelope, {}))).not.toContain('mandate');
  });

  it('reaches a process as a field beside the envelope on its line', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'starloom-line-'));
    const program = join(folder, 'agent.cjs');
    await writeFile(
      program,
      `require('node:readline').createInterface({ input: process.stdin }).once('line', (line) => {
        const { envelope, ...rest } = JSON.parse(line);
        const inside = 'mandate' in envelope || 'mandate' in envelope.auth;
        const answer = JSON.stringify([rest, inside]);
        console.log(JSON.stringify({ type: 'final', data: { answer } }));
        process.exit(0);
      });`,
    );
    const endpoint: ManifestInput['endpoint'] = {
      transport: 'process',
      command: process.execPath,
      args: [program],
    };
    const answers = [await run(await open(endpoint), MANDATE), await run(await open(endpoint))];
    const said = answers.flat().map(({ data }) => JSON.parse((data as { answer: string }).answer));
    expect(said).toEqual([
      [{ mandate: MANDATE }, false],
      [{}, false],
    ]);
    await rm(folder, { recursive: true });
  });
});
