import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import { createTrace, FabricError, MANDATE, type Trace } from '@starloom/core';
import { assertBound, denied, type Principal } from '@starloom/identity';
import type { Ends } from '@starloom/wire';
import { z } from 'zod';
import type { ActiveRequest } from '../observe/observer.ts';
import type { Caller } from '../pipeline/call-request.ts';
import type { Toolset } from '../tools/tool-lists.ts';
import type { McpFace } from './server-factory.ts';
import type { SessionUpdates } from './session-updates.ts';
import { assertNoCredential, META_PASSPORT, severalCredentials } from './to-caller.ts';
import type { ToolNameSetting } from './tool-listing.ts';

/** What a transport knows of the one it talks to; one per request over HTTP, else per connection. */
export interface Connection {
  readonly principal: Principal;
  readonly transport: 'http' | 'ws' | 'stdio';
  /** What requests come by; absent over standard input and output. */
  readonly socket?: Ends | undefined;
  /** Lower-case names; empty where there are no headers. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly toolNames: ToolNameSetting;
  /** What `tools/list` shows. */
  readonly toolsets: readonly Toolset[];
  /** Resolves when the reader has room again; `undefined` when it has room now. */
  readonly room: () => Promise<void> | undefined;
  /** Ends the connection to a reader that was given up. */
  readonly cut: () => void;
  /** How a request of this client is observed. */
  readonly requestOf?: ((id: string | number) => ActiveRequest | undefined) | undefined;
  /** Answers this request with the status and the headers of a limit; over HTTP alone. */
  readonly limited?: ((error: FabricError) => void) | undefined;
  /** Whether the client can be sent something outside of its requests. */
  readonly push?: boolean;
  /** Of the coordination sessions it follows, where there are any and it can be sent something. */
  readonly updates?: SessionUpdates | undefined;
}

/** The connection of this request: in a session over HTTP each request has one of its own. */
export function connectionOf({ http }: ServerContext, connection: Connection): Connection {
  const own = http?.authInfo?.extra?.connection as Connection | undefined;
  return own ?? connection;
}

/** Hands a connection to `connectionOf`, or to a factory of servers. */
export function toAuthInfo(connection: Connection): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { connection } };
}

/** The SDK answers a request with the code, the message and the data of what its handler throws. */
class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const rpcErrorSchema = z.object({
  code: z.int(),
  message: z.string(),
  data: z.unknown().optional(),
});

/** How a request of the SDK is observed. */
export function requestOf(context: ServerContext, opened: Connection): ActiveRequest | undefined {
  return connectionOf(context, opened).requestOf?.(context.mcpReq.id);
}

/** A handler that may throw FabricErrors: they become errors of the protocol, on its request's trace. */
export function answering<Request, Result>(
  opened: Connection,
  serve: (request: Request, context: ServerContext) => Promise<Result>,
): (request: Request, context: ServerContext) => Promise<Result> {
  return async (request, context) => {
    try {
      return await serve(request, context);
    } catch (thrown) {
      // It is an error of the protocol already, of ours or of the SDK.
      if (thrown instanceof Error && Number.isInteger(Object(thrown).code)) throw thrown;
      throw toProtocolError(FabricError.from(thrown), requestOf(context, opened));
    }
  };
}

/** The agent's own JSON-RPC error as it came, else ours with the canonical payload as data. */
export function toProtocolError(
  error: FabricError,
  request: Pick<ActiveRequest, 'trace' | 'fail'> | undefined,
): RpcError {
  request?.fail(error);
  return toRpcError(error, request?.trace ?? createTrace());
}

export function toRpcError(error: FabricError, trace: Trace): RpcError {
  const { data: rpc } = rpcErrorSchema.safeParse(error.details.rpc);
  if (rpc) return new RpcError(rpc.code, rpc.message, rpc.data);
  return new RpcError(error.row.rpc, error.message, error.toPayload(trace));
}

// A passport or a mandate in `_meta` of one request: for callers on standard input and output, who have
// no headers. Everywhere else the credential is in the headers, and one in `_meta` would be a second.

export type Credentials = Pick<McpFace, 'credentials'>;

/** The connection of a request, as the one that the credential of this request names. */
export async function identifiedConnection(
  credentials: Credentials,
  context: ServerContext,
  opened: Connection,
): Promise<Connection> {
  const connection = connectionOf(context, opened);
  const meta = context.mcpReq._meta ?? {};
  const { principal } = await identified(credentials, { ...connection, meta });
  return principal === connection.principal ? connection : { ...connection, principal };
}

/** The caller, as the one that the credential of this request names. */
export async function identified<Asking extends Pick<Caller, 'transport' | 'meta' | 'principal'>>(
  { credentials }: Credentials,
  caller: Asking,
): Promise<Asking> {
  const { transport, meta } = caller;
  if (transport !== 'stdio') {
    assertNoCredential(meta);
    return caller;
  }
  const { [META_PASSPORT]: passport, [MANDATE.meta]: mandate } = meta;
  const shown = passport ?? mandate;
  if (shown === undefined) return caller;
  if (passport !== undefined && mandate !== undefined) throw severalCredentials();
  const verifier = passport === undefined ? credentials?.mandates : credentials?.passports;
  if (!verifier) throw denied('unsupported', 'Passports are not accepted here', 'leave it out');
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return { ...caller, principal: assertBound(await verifier.verify(text)) };
}
