import type { Principal } from '@starloom/identity';
import type { Toolset } from '../tools/catalog.ts';
import type { ToolNameSetting } from './name-style.ts';
import type { SessionUpdates } from './session-updates.ts';

/** What a transport knows of the one it talks to; one per request over HTTP, else per connection. */
export interface Connection {
  readonly principal: Principal;
  readonly transport: 'http' | 'ws' | 'stdio';
  /** Lower-case names; empty where there are no headers. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly toolNames: ToolNameSetting;
  /** What `tools/list` shows. */
  readonly toolsets: readonly Toolset[];
  /** Resolves when the reader has room again; `undefined` when it has room now. */
  readonly room: () => Promise<void> | undefined;
  /** Ends the connection to a reader that was given up. */
  readonly cut: () => void;
  /** What it is told of sessions, where there are sessions and it can be told. */
  readonly updates?: SessionUpdates | undefined;
}
