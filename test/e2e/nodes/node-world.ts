import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Adapter, Closers, type ManifestInput } from '@starloom/core';
import { MemoryAdapter, type MemoryAgent } from '@starloom/core/testing';
import { createObserver } from '@starloom/gateway';
import { createPskVerifier } from '@starloom/identity';
import { temporaryFolder } from '@starloom/testkit';
import { WebSocket } from 'ws';
import {
  KEY,
  openTestGateway,
  type TestGatewayOptions,
} from '../../../packages/gateway/test/test-gateway.ts';
import type { DialerEvent } from '../../../packages/starloom/src/node/gateway-dialer.ts';
import { openNode } from '../../../packages/starloom/src/node/open-node.ts';

export const NODE_KEY = 'node-key-0123456789abcdef';
export const RIVAL_KEY = 'rival-key-0123456789abcdef';
export const CALLER_KEY = 'caller-key-0123456789abcdef';

export const psk = createPskVerifier([
  { key_id: 'test', key: KEY, principal: 'tester', tier: 'org', scopes: ['*'] },
  { key_id: 'node', key: NODE_KEY, principal: 'worker', tier: 'org', scopes: ['register:w*'] },
  { key_id: 'rival', key: RIVAL_KEY, principal: 'rival', tier: 'org', scopes: ['register:r*'] },
  { key_id: 'caller', key: CALLER_KEY, principal: 'caller', tier: 'org', scopes: ['agent:*'] },
]);

/** A gateway whose agents come with nodes. */
export async function openNodeGateway(options: TestGatewayOptions = {}) {
  return await openTestGateway({}, { psk, ...options });
}

export interface TestNodeOptions {
  readonly key?: string;
  readonly nodeId?: string;
  readonly drainMs?: number;
  readonly openAdapter?: (agentId: string) => Adapter;
}

/** A node whose agents are functions, `worker` first; its file can be written again. */
export async function openTestNode(
  gateways: readonly string[],
  agents: Readonly<Record<string, MemoryAgent>>,
  { key = NODE_KEY, nodeId = 'n1', drainMs = 5_000, openAdapter }: TestNodeOptions = {},
) {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'agents.yaml');
  const write = (manifests: readonly Partial<ManifestInput>[]) =>
    writeFile(path, JSON.stringify(manifests.map(toManifest)));
  await write(Object.keys(agents).map((agent_id) => ({ agent_id })));
  const events: DialerEvent[] = [];
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const observer = createObserver({ level: 'debug', otlp: null, version: '0.0.0', destination });
  const node = await openNode({
    nodeId,
    gateways,
    key,
    agents: path,
    env: {},
    observer,
    onEvent: (event) => void events.push(event),
    openAdapter: async (manifest) =>
      openAdapter?.(manifest.agent_id) ??
      new MemoryAdapter(manifest, agents[manifest.agent_id] as MemoryAgent),
    drainMs,
  });
  node.connected.catch(() => {});
  let closing: Promise<void> | undefined;
  const close = async () => {
    await node.close();
    await observer.shutdown();
    await folder[Symbol.asyncDispose]();
  };
  const endOnce = () => {
    closing ??= close();
    return closing;
  };
  return {
    connected: node.connected,
    events,
    lines,
    write,
    close: endOnce,
    [Symbol.asyncDispose]: endOnce,
    /** How often it was connected. */
    connections: () => events.filter(({ event }) => event === 'connected').length,
  };
}

function toManifest(change: Partial<ManifestInput>): object {
  return {
    endpoint: { transport: 'http', protocol: 'memory', uri: 'http://127.0.0.1:9/' },
    capabilities: [{ name: 'work', streaming: true }],
    trust_tier: 'org',
    ...change,
  };
}

/** What stands between a node and its gateway: it records, cuts, and can fall silent. */
export async function openBalancer(target: string, { idleMs = 0 } = {}) {
  const { port, hostname } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  const closers = new Closers();
  let received = '';
  let connections = 0;
  let messages = 0;
  const server = createServer((client) => {
    connections += 1;
    const upstream = connectTo(Number(port), hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    upstream.on('data', (data) => {
      received += data.toString();
      messages += 1;
    });
    client.pipe(upstream);
    upstream.pipe(client);
    for (const socket of pair) {
      socket.on('error', end).on('close', end);
      if (idleMs > 0) socket.setTimeout(idleMs, end);
    }
  });
  closers.add(async () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    /** Pieces that came from the gateway, heartbeats too. */
    messages: () => messages,
    /** What the node got from the gateway. */
    received: () => received,
    /** Both sides see the end of the connection. */
    cut: () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
    /** The connections of the moment carry nothing any more, and neither side is told. */
    vanish: () => {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream).pause();
        upstream.unpipe(client).pause();
      }
    },
    [Symbol.asyncDispose]: () => closers.close(),
  };
}

/** A node that is written by hand: it can send what a real one never does. */
export async function openRawNode(url: string, { key = NODE_KEY, nodeId = 'raw' } = {}) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/node`, {
    headers: { authorization: `Bearer ${key}` },
  });
  // biome-ignore lint/suspicious/noExplicitAny: frames of any form
  const frames: any[] = [];
  const closed = Promise.withResolvers<number>();
  socket.on('message', (data) => frames.push(JSON.parse(data.toString())));
  socket.on('error', () => {});
  socket.once('close', (code) => closed.resolve(code));
  await once(socket, 'open');
  const send = (frame: unknown) => socket.send(JSON.stringify(frame));
  const params = { protocol: 1, node_id: nodeId, run_id: 'raw-run-1' };
  send({ type: 'open', id: 1, method: 'hello', params });
  return {
    frames,
    send,
    socket,
    closed: closed.promise,
    offer: (...agentIds: string[]) => {
      const agents = agentIds.map((agent_id) => toManifest({ agent_id }));
      send({ type: 'open', id: 2, method: 'offer', params: { agents } });
    },
    [Symbol.asyncDispose]: async () => socket.terminate(),
  };
}
