import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Secret } from '@starloom/config';
import type { Coordination } from '@starloom/coordination';
import {
  type Adapter,
  type AgentDescription,
  type EventBody,
  type FabricEvent,
  type JobEngine,
  type Journal,
  type Manifest,
  type ManifestInput,
  manifestSchema,
} from '@starloom/core';
import { MemoryAdapter, type MemoryAgent, MemoryRegistry } from '@starloom/core/testing';
import {
  type Authenticator,
  createAuthenticator,
  createPskVerifier,
  type Identity,
  type PskVerifier,
} from '@starloom/identity';
import { Gateway, type GatewayOptions, gatewayConfigSchema, type TlsFiles } from '../src/index.ts';
import { createObserver } from '../src/observe/observer.ts';

export const KEY = 'test-key-0123456789abcdef';
/** Of another principal. */
export const STRANGER_KEY = 'other-key-0123456789abcde';

export interface TestAgent {
  readonly manifest?: Partial<ManifestInput>;
  readonly run: MemoryAgent;
  /** What the agent says of itself; its manifest by default. */
  readonly describe?: () => Promise<AgentDescription>;
}

export interface TestGatewayOptions {
  readonly config?: Record<string, unknown>;
  readonly anonymous?: boolean;
  readonly stallMs?: number;
  readonly sessions?: GatewayOptions['sessions'];
  readonly coordination?: Coordination;
  readonly jobs?: JobEngine;
  readonly journal?: Journal;
  readonly log?: (line: string) => void;
  /** Address of a collector of spans. */
  readonly otlp?: string | null;
  readonly conversationKey?: Buffer;
  readonly gatewayId?: string;
  readonly realm?: GatewayOptions['realm'];
  readonly psk?: PskVerifier;
  readonly authenticator?: Authenticator;
  readonly identity?: Identity;
  readonly pinning?: GatewayOptions['pinning'];
  readonly sharedRules?: GatewayOptions['sharedRules'];
  readonly drainMs?: number;
  readonly nodeHeartbeatMs?: number;
  /** In place of agents that are functions. */
  readonly openAdapter?: GatewayOptions['openAdapter'];
  /** What an adapter of the agents has beside its own methods, such as those of an MCP agent. */
  readonly extendAdapter?: (adapter: MemoryAdapter) => Adapter;
  readonly certificates?: TlsFiles;
  readonly console?: GatewayOptions['console'];
  /** In place of one that holds the agents. */
  readonly registry?: MemoryRegistry;
  /** Signs cards; PEM. */
  readonly signingKey?: string;
  /** Serves A2A over gRPC with a certificate. */
  readonly grpcTls?: { readonly certificate: Secret; readonly key: Secret };
}

/** A gateway on a free port whose agents are functions of the test. */
export async function openTestGateway(
  agents: Record<string, TestAgent>,
  {
    config = {},
    anonymous = false,
    log = () => {},
    otlp = null,
    coordination,
    sessions,
    jobs,
    journal,
    stallMs = 30_000,
    conversationKey,
    gatewayId,
    realm,
    psk: givenPsk,
    authenticator,
    identity,
    pinning,
    sharedRules,
    drainMs = 10_000,
    nodeHeartbeatMs,
    extendAdapter = (adapter) => adapter,
    certificates,
    console,
    signingKey,
    grpcTls,
    openAdapter,
    registry: givenRegistry,
  }: TestGatewayOptions = {},
) {
  const manifests = Object.entries(agents).map(([agent_id, { manifest }]) =>
    manifestSchema.parse({
      agent_id,
      endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/', protocol: 'memory' },
      capabilities: [{ name: 'work', streaming: true }],
      trust_tier: 'org',
      ...manifest,
    }),
  );
  const registry = givenRegistry ?? new MemoryRegistry(manifests);
  const observer = createObserver({
    level: 'debug',
    otlp,
    version: '0.0.0',
    times: { collectMs: 20 },
    destination: { write: (line: string) => log(line) },
  });
  const psk =
    givenPsk ??
    createPskVerifier([
      { key_id: 'test', key: KEY, principal: 'tester', tier: 'org', scopes: ['*'] },
      { key_id: 'other', key: STRANGER_KEY, principal: 'stranger', tier: 'org', scopes: ['*'] },
    ]);
  const parsed = gatewayConfigSchema.parse({ listen: { port: 0 }, ...config });
  const signing_key = signingKey === undefined ? undefined : new Secret('env:KEY', signingKey);
  const gateway = new Gateway({
    config: {
      ...parsed,
      a2a: {
        ...parsed.a2a,
        ...(signing_key && { signing_key }),
        ...(grpcTls && { grpc: { port: 0, ...grpcTls } }),
      },
    },
    registry,
    openAdapter:
      openAdapter ??
      (async (manifest: Manifest) =>
        extendAdapter(
          new MemoryAdapter(
            manifest,
            agents[manifest.agent_id]?.run ?? (() => never()),
            agents[manifest.agent_id]?.describe,
          ),
        )),
    authenticator: authenticator ?? createAuthenticator({ psk, anonymous }),
    identity,
    pinning,
    sharedRules,
    observer,
    version: '0.0.0',
    coordination,
    sessions,
    jobs,
    journal,
    stallMs,
    conversationKey,
    gatewayId,
    realm,
    drainMs,
    nodeHeartbeatMs,
    certificates,
    console,
  });
  const url = await gateway.listen();
  return {
    gateway,
    registry,
    observer,
    url,
    [Symbol.asyncDispose]: async () => {
      await gateway.close();
      await registry.close();
      await observer.shutdown();
    },
  };
}

export async function connect(
  url: string,
  mode: 'auto' | 'legacy' = 'auto',
  headers: Record<string, string> = {},
) {
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${KEY}`, ...headers } },
  });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** Calls a tool; what came back, and every event on the way. */
export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  options: { meta?: Record<string, unknown>; signal?: AbortSignal; events?: boolean } = {},
) {
  const events: FabricEvent[] = [];
  const result = await client.callTool(
    { name, arguments: args, ...(options.meta && { _meta: options.meta }) },
    {
      ...(options.signal && { signal: options.signal }),
      ...(options.events !== false && {
        onprogress: (progress) => {
          const meta = (progress as { _meta?: Record<string, FabricEvent> })._meta;
          const event = meta?.['io.starloom/event'];
          if (event) events.push(event);
        },
      }),
    },
  );
  // biome-ignore lint/suspicious/noExplicitAny: tests read into payloads freely
  return { result, payload: result.structuredContent as any, events };
}

/** Agents by what they do. */
export const answers = (answer: string, ...before: EventBody[]): MemoryAgent =>
  async function* () {
    yield* before;
    yield { type: 'final', data: { answer } };
  };

export const fails = (error: Error): MemoryAgent =>
  // biome-ignore lint/correctness/useYield: it fails before it says anything
  async function* () {
    throw error;
  };

async function* never(): AsyncIterable<EventBody> {
  await new Promise(() => {});
}
