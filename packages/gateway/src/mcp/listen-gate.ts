// The SDK answers `subscriptions/listen` itself and knows nothing of sessions. So each such request
// first passes here: the resources it names are followed before it is acknowledged, and those that
// tell of no updates are left out of it, so that the acknowledgement is true.

import type { JSONRPCMessage, Server, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import type { Intake } from '../transports/message-transport.ts';
import { answering, type Connection } from './connection.ts';
import type { SessionUpdates, SubscriptionId } from './session-updates.ts';

const LISTEN = 'subscriptions/listen';
const CANCEL = 'notifications/cancelled';

const listenSchema = z.looseObject({
  method: z.literal(LISTEN),
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }),
    _meta: z.record(z.string(), z.unknown()).optional(),
  }),
});

const cancelSchema = z.looseObject({
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});

/** Whether a request with this `_meta` may follow the resource; rejects when that cannot be read. */
export type MayFollow = (uri: string, meta: Readonly<Record<string, unknown>>) => Promise<boolean>;

/** For a connection on which requests to listen come and go. */
export function listenGate(updates: SessionUpdates, mayFollow: MayFollow): Intake {
  const held = new Set<SubscriptionId>();
  return (message, deliver) => {
    const method = 'method' in message ? message.method : undefined;
    if (method === CANCEL) {
      const ended = cancelSchema.safeParse(message).data?.params.requestId;
      if (ended !== undefined && !held.delete(ended)) void updates.unsubscribe(ended);
    }
    const id = method === LISTEN ? listenSchema.safeParse(message).data?.id : undefined;
    if (id === undefined) return deliver(message);
    held.add(id);
    void toServed(message, updates, mayFollow).then((served) => {
      if (held.delete(id) && updates.isSubscribed(id)) deliver(served as JSONRPCMessage);
      else void updates.unsubscribe(id);
    });
  };
}

/** The request as far as it can be served, once it is; any other message as it is. */
export async function toServed(
  message: unknown,
  updates: SessionUpdates,
  mayFollow: MayFollow,
): Promise<unknown> {
  const { data: listen } = listenSchema.safeParse(message);
  if (listen === undefined) return message;
  const { id, params } = listen;
  const { notifications, _meta = {} } = params;
  const asked = notifications.resourceSubscriptions.map(async (uri) => {
    const isAllowed = await mayFollow(uri, _meta).catch(() => false);
    return isAllowed ? [uri] : [];
  });
  const wanted = (await Promise.all(asked)).flat();
  const resourceSubscriptions = await updates.subscribe(id, wanted);
  return {
    ...listen,
    params: { ...params, notifications: { ...notifications, resourceSubscriptions } },
  };
}

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
    if (updates === undefined || !isAllowed) throw failure('not_subscribable', { uri });
    const [served] = await updates.subscribe(uri, [uri]);
    if (updates.isFollowed(uri)) return {};
    const { trouble } = updates;
    await updates.unsubscribe(uri);
    throw served === undefined
      ? failure('not_subscribable', { uri })
      : (trouble ?? failure('unknown_name/session', { uri }));
  };
  server.setRequestHandler('resources/subscribe', answering(connection, subscribe));
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    await connection.updates?.unsubscribe(uri);
    return {};
  });
}
