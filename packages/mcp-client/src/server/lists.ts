// Lists of an MCP server that change, and its clients that are notified: those that subscribed over HTTP, and
// those with a connection.

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;

export type ListKind = (typeof LIST_KINDS)[number];

/** The part of the SDK's `ServerNotifier` that is needed. */
interface Subscribers {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
}

/** The part of the SDK's `Server` that is needed. */
interface ConnectedServer {
  sendToolListChanged(): Promise<void>;
  sendPromptListChanged(): Promise<void>;
  sendResourceListChanged(): Promise<void>;
}

export function notifySubscribers(subscribers: Subscribers, kind: ListKind): void {
  if (kind === 'tools') subscribers.toolsChanged();
  else if (kind === 'prompts') subscribers.promptsChanged();
  else subscribers.resourcesChanged();
}

/** Rejects when the connection is closed. */
export async function sendListChanged(server: ConnectedServer, kind: ListKind): Promise<void> {
  if (kind === 'tools') await server.sendToolListChanged();
  else if (kind === 'prompts') await server.sendPromptListChanged();
  else await server.sendResourceListChanged();
}
