import { bounded, type Clock, FabricError, isErrorCode, type Log, toFields } from '@starloom/core';
import {
  httpTransports,
  McpClient,
  type McpClientOptions,
  parseHeaders,
  rpcErrorOf,
  stdioTransports,
  type TransportSource,
} from '@starloom/mcp-client';
import { createExcerpt } from '@starloom/wire';
import type { McpServerConfig } from '../../config/agent-toml.ts';

export interface McpServerOptions {
  /** Of `agent.json`: where subprocesses run. */
  readonly folder: string;
  /** Who we are towards the server. */
  readonly client: McpClientOptions['info'];
  readonly log: Log;
  readonly clock?: Clock;
  readonly connectTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 30_000;
const MAX_BACKOFF_MS = 60_000;
const MAX_MESSAGE_BYTES = 16_777_216;
const CONNECTIONS = 256;

/** Nothing is started yet, and nothing of the configuration looked at. */
export function openClient(
  config: McpServerConfig,
  options: McpServerOptions,
  listeners: Pick<McpClientOptions, 'onOpened' | 'onFailure'>,
): McpClient {
  const { client, clock, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const log = options.log.child({ server: config.name });
  return new McpClient({
    source: whenNeeded(() => createSource(config, { ...options, log })),
    info: client,
    capabilities: {},
    connectTimeoutMs,
    longestBackoffMs: MAX_BACKOFF_MS,
    log,
    ...(clock && { clock }),
    ...listeners,
  });
}

/** A server that is described wrongly fails when it is needed, as one that is dead. */
function whenNeeded(create: () => TransportSource): TransportSource {
  let source: TransportSource | undefined;
  return {
    create() {
      source ??= create();
      return source.create();
    },
    async close() {
      await source?.close();
    },
  };
}

function createSource(
  { command = [], env = {}, url, headers = {} }: McpServerConfig,
  { folder, log, connectTimeoutMs = CONNECT_TIMEOUT_MS }: McpServerOptions,
): TransportSource {
  const shared = {
    maxMessageBytes: MAX_MESSAGE_BYTES,
    excerpt: createExcerpt({ headers, env }),
    isTraced: true,
    log,
  };
  if (url !== undefined) {
    return httpTransports({
      ...shared,
      uri: url,
      headers: parseHeaders(headers),
      connections: CONNECTIONS,
      connectTimeoutMs,
    });
  }
  const [program = '', ...args] = command;
  return stdioTransports({ ...shared, command: program, args, env, cwd: folder });
}

const SEE_IT_RUNS = 'see whether the server runs, and check its entry in agent.toml';
const NAME_A_SERVER = 'name an MCP server in agent.toml';

const FIXES: Readonly<Record<string, string>> = {
  agent_denied: 'set "headers" of the server in agent.toml',
  bad_header: 'correct "headers" of the server in agent.toml',
  refused: SEE_IT_RUNS,
  unknown_host: SEE_IT_RUNS,
  connect_timeout: SEE_IT_RUNS,
  tls: SEE_IT_RUNS,
  unreachable: SEE_IT_RUNS,
  handshake: NAME_A_SERVER,
  invalid_http: NAME_A_SERVER,
  not_json: NAME_A_SERVER,
  not_json_rpc: NAME_A_SERVER,
  not_mcp: NAME_A_SERVER,
  redirect: 'use the final address as "url" of the server in agent.toml',
  process_ended: 'see what the server wrote to stderr, and run its command by hand',
  backoff: 'see why the server fails: run its command by hand, or look at its log',
  answer_too_large: 'ask the server for less',
};

/** A failure of the shared client for people who write agent.toml: its peer is an MCP server. */
export function serverFailure(server: string, error: unknown): FabricError {
  const failure = FabricError.from(error);
  const { code, message, details, cause, answer } = failure;
  if (isOfStarloom(failure)) return failure.with({ server });
  const fix = FIXES[String(details.reason)] ?? details.fix;
  const rpc = rpcErrorOf(failure);
  return new FabricError(code, rpc ? bounded(rpc.message) : rewordMessage(message, server), {
    details: { ...details, server, ...(fix !== undefined && { fix }) },
    cause,
    answer,
  });
}

/** A failure that another Starloom reported speaks of its own agents. */
function isOfStarloom({ details }: FabricError): boolean {
  return isErrorCode(toFields(details.upstream).code);
}

/** The client calls its peer "the agent", which is us here. */
function rewordMessage(message: string, server: string): string {
  return message.replace(/\bthe agent\b/i, (words) =>
    words.startsWith('T') ? `The MCP server "${server}"` : `the MCP server "${server}"`,
  );
}
