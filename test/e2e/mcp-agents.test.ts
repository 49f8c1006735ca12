// What MCP agents say reaches MCP clients whole, whichever revision the two speak.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { inputRequired, type McpServerFactory, Server } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  serveModern,
  serveSessions,
} from '../../packages/adapters/test/fixtures/mcp-http-server.ts';
import { openGateway } from './gateway.ts';

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
  /** Absent in what the client itself reports between two rounds of a call. */
  readonly _meta?: object;
}

const ASK = {
  message: 'Go on?',
  requestedSchema: { type: 'object' as const, properties: { yes: { type: 'boolean' as const } } },
};

/** Counts to 20 in steps of 5, and asks after the second. */
const counting =
  (asks: boolean): McpServerFactory =>
  () => {
    const server = new Server(
      { name: 'counter', version: '4.5.6' },
      { capabilities: { tools: {} } },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'count', inputSchema: { type: 'object' as const } }],
    }));
    server.setRequestHandler('tools/call', async (_, { mcpReq }) => {
      const count = async (...values: number[]) => {
        for (const progress of values) {
          const params = {
            progressToken: mcpReq._meta?.progressToken ?? '',
            progress,
            total: 20,
            message: `${progress} done`,
          };
          await mcpReq.notify({ method: 'notifications/progress', params });
        }
      };
      const isModern = mcpReq.envelope !== undefined;
      if (!mcpReq.inputResponses) await count(5, 10);
      if (asks && !isModern) await server.elicitInput(ASK, { relatedRequestId: mcpReq.id });
      if (asks && isModern && !mcpReq.inputResponses) {
        const go = { method: 'elicitation/create' as const, params: ASK };
        return inputRequired({ inputRequests: { go }, requestState: 'half' }) as never;
      }
      await count(15, 20);
      return { content: [{ type: 'text', text: 'counted' }] };
    });
    return server;
  };

async function open(factories: Record<string, readonly ['modern' | 'older', McpServerFactory]>) {
  const agents = Object.entries(factories).map(async ([agent_id, [era, factory]]) => {
    const http = era === 'modern' ? await serveModern(factory) : await serveSessions(factory);
    onTestFinished(() => http.close());
    const endpoint = { transport: 'http' as const, uri: http.uri };
    return { agent_id, trust_tier: 'org' as const, endpoint };
  });
  const gateway = await openGateway(await Promise.all(agents));
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

async function connect(url: string, mode: 'auto' | 'legacy', capabilities = {}) {
  const client = new Client(
    { name: 'e2e', version: '0' },
    { versionNegotiation: { mode }, capabilities },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  onTestFinished(() => client.close());
  return client;
}

describe('progress of an MCP agent', () => {
  const eras = [
    ['auto', 'modern'],
    ['auto', 'older'],
    ['legacy', 'modern'],
    ['legacy', 'older'],
  ] as const;

  const follow = async (client: Client, name: string, args = {}) => {
    const heard: Progress[] = [];
    const onprogress = (said: Progress) => void (said._meta && heard.push(said));
    const result = await client.callTool({ name, arguments: args }, { onprogress });
    expect(result.isError).toBeFalsy();
    const values = heard.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
    return heard;
  };

  const counted = (heard: readonly Progress[]) =>
    heard.flatMap(({ progress, total, message }) => (total ? { progress, total, message } : []));

  const all = [5, 10, 15, 20].map((progress) => ({
    progress,
    total: 20,
    message: `${progress} done`,
  }));

  it.each(eras)('reaches a client (%s) as the agent (%s) counts it', async (mode, era) => {
    const { url } = await open({ counter: [era, counting(false)] });
    const client = await connect(url, mode);
    expect(counted(await follow(client, 'counter.count'))).toEqual(all);
    const call = { agent_id: 'counter', capability: 'count', stream: true };
    const heard = await follow(client, 'fabric.call', call);
    expect(counted(heard)).toEqual(all);
    const ours = heard.filter(({ total }) => total === undefined);
    expect(ours.map(({ message }) => message)).toContain('accepted');
  });

  it.each(eras)('goes on after a question of the agent: client %s, agent %s', async (mode, era) => {
    const { url } = await open({ counter: [era, counting(true)] });
    const client = await connect(url, mode, { elicitation: { form: {} } });
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept' as const,
      content: { yes: true },
    }));
    expect(counted(await follow(client, 'counter.count'))).toEqual(all);
  });
});
