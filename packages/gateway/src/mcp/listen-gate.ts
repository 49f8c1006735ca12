// The SDK answers `subscriptions/listen` itself and knows nothing of sessions. So each such request
// first passes here: the resources it names are followed before it is acknowledged, and those that
// tell of no updates are left out of it, so that the acknowledgement is true.

import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Intake } from '../transports/message-transport.ts';
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
