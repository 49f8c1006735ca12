import { FabricError, type Log } from '@starloom/core';
import type { LostLock, Ticket } from './known-locks.ts';
import type { GrantedTicket } from './leases.ts';

interface Notice {
  readonly session_id: string;
  readonly agent_id: string;
  readonly cursor: number;
}

export interface ClientEvents {
  disconnected: [];
  reconnected: [];
  /** By `close`, or because the gateway does not accept the client any more. */
  closed: [FabricError];
  /** The agent was lost and registered again: all that it held is gone. */
  registered_again: [{ readonly epoch: number }];
  lease_lost: [LostLock];
  lease_granted: [GrantedTicket];
  /** What was asked for with `async: true` will not be granted: nothing of it was there any more. */
  ticket_gone: [Ticket];
  agent_disconnected: [Notice & { readonly reason: string; readonly last_seen: number }];
  agent_joined: [Notice & { readonly role?: string; readonly returned?: true }];
  agent_left: [Notice & { readonly reason: string }];
  session_changed: [Notice & { readonly state: string }];
  /**
   * Notices of a session may be missing: the client was away, or too slow, then with a cursor.
   * Its locks there are looked up.
   */
  notices_missed: [{ readonly session_id: string; readonly cursor?: number }];
}

const NAMES = {
  'memory_locker.lost': 'lease_lost',
  'memory_locker.granted': 'lease_granted',
  'session_manager.agent_disconnected': 'agent_disconnected',
  'session_manager.agent_joined': 'agent_joined',
  'session_manager.agent_left': 'agent_left',
  'session_manager.state_changed': 'session_changed',
  'session_manager.notices_missed': 'notices_missed',
} as const satisfies Record<string, keyof ClientEvents>;

export type PushEvent = {
  [Name in (typeof NAMES)[keyof typeof NAMES]]: {
    readonly name: Name;
    readonly data: ClientEvents[Name][0];
  };
}[(typeof NAMES)[keyof typeof NAMES]];

/** The event that a push is for the agent; `undefined` for one that this client does not know. */
export function toClientEvent(
  method: string,
  params: Readonly<Record<string, unknown>>,
): PushEvent | undefined {
  if (!Object.hasOwn(NAMES, method)) return undefined;
  return { name: NAMES[method as keyof typeof NAMES], data: params } as unknown as PushEvent;
}

/**
 * Begins the handler at once; resolves when it is done, whatever came of it. Handlers belong to the
 * agent: what one throws, at once or later, goes to the log, or without a log is a warning of the
 * process; it changes nothing else.
 */
export type RunHandler = (name: string, handler: () => unknown) => Promise<void>;

export function createRunHandler(log: Log | undefined): RunHandler {
  return async (name, handler) => {
    try {
      await handler();
    } catch (thrown) {
      report(log, name, thrown);
    }
  };
}

function report(log: Log | undefined, handler: string, cause: unknown): void {
  const message = `coordination: the handler of "${handler}" failed`;
  if (log) {
    log.error({ error: FabricError.from(cause), handler }, message);
    return;
  }
  const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  process.emitWarning(message, { type: 'CoordinationWarning', detail });
}
