import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import type { FabricError } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Ends } from '@starloom/wire';
import type { ActiveRequest } from '../observe/observer.ts';
import type { Toolset } from '../tools/catalog.ts';
import type { ToolNameSetting } from './name-style.ts';
import type { SessionUpdates } from './session-updates.ts';

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
