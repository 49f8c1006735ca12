// The SDK answers `subscriptions/listen` itself and knows nothing of sessions. So each such request
// first passes here: the resources it names are followed before it is acknowledged, and those that
// tell of no updates are left out of it, so that the acknowledgement is true.

import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Intake } from '../transports/message-transport.ts';
import type { SessionUpdates } from './session-updates.ts';

const LISTEN = 'subscriptions/listen';
const CANCEL = 'notifications/cancelled';

const listenSchema = z.looseObject({
  method: z.literal(LISTEN),
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }),
  }),
});

const cancelSchema = z.looseObject({
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});

/** For a connection on which requests to listen come and go. */
export function listenGate(updates: SessionUpdates): Intake {
  return (message, deliver) => {
    const method = 'method' in message ? message.method : undefined;
    if (method === CANCEL) endNamed(message, updates);
    const id = method === LISTEN ? listenSchema.safeParse(message).data?.id : undefined;
    if (id === undefined) return deliver(message);
    void toServed(message, updates).then((served) => {
      if (updates.isSubscribed(id)) deliver(served as JSONRPCMessage);
    });
  };
}

/** The request as far as it can be served, once it is; any other message as it is. */
export async function toServed(message: unknown, updates: SessionUpdates): Promise<unknown> {
  const { data: listen } = listenSchema.safeParse(message);
  if (listen === undefined) return message;
  const { id, params } = listen;
  const { notifications } = params;
  const wanted = notifications.resourceSubscriptions;
  const resourceSubscriptions = await updates.subscribe(id, wanted);
  return {
    ...listen,
    params: { ...params, notifications: { ...notifications, resourceSubscriptions } },
  };
}

function endNamed(message: JSONRPCMessage, updates: SessionUpdates): void {
  const id = cancelSchema.safeParse(message).data?.params.requestId;
  if (id !== undefined) void updates.unsubscribe(id);
}
