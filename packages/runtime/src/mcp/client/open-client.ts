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
import { rewordFailure } from '../../reword-failure.ts';

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

/** A failure of the client for people who write agent.toml. One of another Starloom speaks of its own agents. */
export function serverFailure(server: string, thrown: unknown): FabricError {
  const error = FabricError.from(thrown);
  if (isErrorCode(toFields(error.details.upstream).code)) return error.with({ server });
  const reworded = rewordFailure(error, 'server', `the MCP server "${server}"`, { server });
  const rpc = rpcErrorOf(error);
  if (!rpc) return reworded;
  const { code, details, cause, answer } = reworded;
  return new FabricError(code, bounded(rpc.message), { details, cause, answer });
}
