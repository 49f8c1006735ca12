import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTrace, manifestSchema, silentLog } from '@starloom/core';
import { type Identity, LOCAL_PRINCIPAL, openIdentity } from '@starloom/identity';
import { defineTool } from '@starloom/sdk';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openFace } from './fixtures/face-world.ts';

const depths: number[] = [];
const traces: string[] = [];

const probe = defineTool({
  name: 'probe:look',
  description: 'Says where it was called from.',
  effect: 'read',
  parameters: z.strictObject({}),
  execute: async (_, { hop, trace }) => {
    depths.push(hop.depth);
    traces.push(trace.trace_id);
    return 'looked';
  },
});

async function openWorld() {
  const folder = await temporaryFolder();
  const options = { folder: folder.path, configured: [], anonymous: false, log: silentLog };
  const identity = await openIdentity(options);
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(identity.jwks()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const face = await openFace({
    tools: [probe],
    agent: {
      mcp: {
        expose_tools: ['probe:look'],
        mandate: { jwks: `http://127.0.0.1:${port}/`, issuer: identity.issuer, audience: 'coder' },
      },
    },
  });
  return {
    face,
    identity,
    [Symbol.asyncDispose]: async () => {
      await face[Symbol.asyncDispose]();
      server.close();
      server.closeAllConnections();
      await identity.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function mint({ mint }: Identity, agentId: string) {
  return await mint.mint({
    principal: LOCAL_PRINCIPAL,
    target: manifestSchema.parse({
      agent_id: agentId,
      endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
      trust_tier: 'org',
      auth: { mandate: true },
    }),
    capability: 'probe:look',
    traceId: createTrace().trace_id,
    maxDepth: 5,
    budget: { calls: 1, ms: 60_000 },
  });
}

describe('an agent that wants mandates', () => {
  it('[G12] verifies each call by itself, over HTTP and stdio', async () => {
    await using world = await openWorld();
    for (const connect of [world.face.connectHttp, world.face.connectStdio]) {
      await using client = await connect();
      const look = async (mandate?: string) => {
        const { isError, content } = await client.callTool({
          name: 'probe.look',
          arguments: {},
          ...(mandate !== undefined && { _meta: { 'io.starloom/mandate': mandate } }),
        });
        const [block] = content;
        const text = block?.type === 'text' ? block.text : '';
        return isError ? JSON.parse(text).error.details.reason : text;
      };
      const { token, claims } = await mint(world.identity, 'coder');
      expect(await look()).toBe('missing');
      expect(await look('nonsense')).toBe('malformed');
      expect(await look((await mint(world.identity, 'files')).token)).toBe('wrong_audience');
      expect(await look(token)).toBe('looked');
      expect(traces.at(-1)).toBe(claims.tid);
      expect(await look(token)).toBe('replayed');
    }
    expect(depths).toEqual([1, 1]);
  });
});
