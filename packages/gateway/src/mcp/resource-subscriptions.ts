import type { Server } from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import type { MayFollow } from './listen-gate.ts';
import { toProtocolError } from './protocol-error.ts';
import { noSuchSession } from './session-resources.ts';
import type { SessionUpdates } from './session-updates.ts';

/** How clients of older revisions subscribe, on a connection that takes a push. */
export function installSubscriptions(
  server: Server,
  updatesOf: () => SessionUpdates | undefined,
  mayFollow: MayFollow,
): void {
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, { mcpReq }) => {
    const isAllowed = await mayFollow(uri, mcpReq._meta ?? {}).catch((error: unknown) => {
      throw toProtocolError(FabricError.from(error));
    });
    const updates = updatesOf();
    if (updates === undefined || !isAllowed) throw toProtocolError(tellsNothing(uri));
    const [served] = await updates.subscribe(uri, [uri]);
    if (updates.isFollowed(uri)) return {};
    const { trouble } = updates;
    await updates.unsubscribe(uri);
    throw toProtocolError(
      served === undefined ? tellsNothing(uri) : (trouble ?? noSuchSession(uri)),
    );
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    await updatesOf()?.unsubscribe(uri);
    return {};
  });
}

function tellsNothing(uri: string): FabricError {
  return new FabricError('BAD_INPUT', 'This resource cannot be subscribed to', {
    details: { reason: 'not_subscribable', uri, fix: 'subscribe to the context of a session' },
  });
}
