import type { Server, ServerNotifier } from '@modelcontextprotocol/server';
import type { ListKind } from './mcp-face.ts';

/** To a client with a connection of its own; one that is gone need not know. */
export function tellList(server: Server, kind: ListKind): void {
  const sent = kind === 'tools' ? server.sendToolListChanged() : server.sendResourceListChanged();
  sent.catch(() => {});
}

/** To those who subscribed over HTTP. */
export function tellSubscribers(notifier: ServerNotifier, kind: ListKind): void {
  if (kind === 'tools') notifier.toolsChanged();
  else notifier.resourcesChanged();
}
