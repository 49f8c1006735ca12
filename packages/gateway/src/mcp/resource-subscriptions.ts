import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import type { Connection } from './connection.ts';
import type { MayFollow } from './listen-gate.ts';
import { answering } from './protocol-error.ts';
import { noSuchSession } from './session-resources.ts';

type Subscribed = { readonly params: { readonly uri: string } };

/** How clients of older revisions subscribe, on a connection that takes a push. */
export function installSubscriptions(
  server: Server,
  connection: Connection,
  mayFollow: MayFollow,
): void {
  const subscribe = async ({ params: { uri } }: Subscribed, { mcpReq }: ServerContext) => {
    const isAllowed = await mayFollow(uri, mcpReq._meta ?? {});
    const { updates } = connection;
    if (updates === undefined || !isAllowed) throw tellsNothing(uri);
    const [served] = await updates.subscribe(uri, [uri]);
    if (updates.isFollowed(uri)) return {};
    const { trouble } = updates;
    await updates.unsubscribe(uri);
    throw served === undefined ? tellsNothing(uri) : (trouble ?? noSuchSession(uri));
  };
  server.setRequestHandler('resources/subscribe', answering(connection, subscribe));
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    await connection.updates?.unsubscribe(uri);
    return {};
  });
}

function tellsNothing(uri: string): FabricError {
  return new FabricError('BAD_INPUT', 'This resource cannot be subscribed to', {
    details: { reason: 'not_subscribable', uri, fix: 'subscribe to the context of a session' },
  });
}
