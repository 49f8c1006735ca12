// Lists of agents that change, from the agent that says so to every client that can be notified:
// subscriptions over HTTP, and connections that take a push.

import type { Server, ServerNotifier } from '@modelcontextprotocol/server';
import { isMcpRelay, type McpRelay } from '@starloom/adapters';
import { type Adapter, FabricError, type Log } from '@starloom/core';

export type ListKind = Parameters<McpRelay['onListChanged']>[0];

export const LIST_KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources'];

/** Calls back when a list of the agent changed; ends with the adapter. */
export function watchLists(adapter: Adapter, onChange: (kind: ListKind) => void): void {
  if (!isMcpRelay(adapter)) return;
  for (const kind of LIST_KINDS) adapter.onListChanged(kind, () => onChange(kind));
}

export function tellSubscribers(notifier: ServerNotifier, kind: ListKind): void {
  if (kind === 'tools') notifier.toolsChanged();
  else if (kind === 'prompts') notifier.promptsChanged();
  else notifier.resourcesChanged();
}

export async function sendListChanged(server: Server, kind: ListKind): Promise<void> {
  if (kind === 'tools') await server.sendToolListChanged();
  else if (kind === 'prompts') await server.sendPromptListChanged();
  else await server.sendResourceListChanged();
}

export function tellConnected(server: Server, kind: ListKind, log: Log): void {
  sendListChanged(server, kind).catch((error: unknown) => {
    log.debug({ error: FabricError.from(error) }, 'could not notify a client of a list change');
  });
}
