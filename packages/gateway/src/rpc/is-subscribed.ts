import type { RpcAnswer } from '@starloom/coordination';

const SUBSCRIBE = 'context_coordinator.subscribe';

/** Was something subscribed to? Then a stream stays open for what is pushed. */
export function isSubscribed(body: unknown, answer: RpcAnswer): boolean {
  const asked = new Set([body].flat().map(subscriptionAsked));
  return [answer].flat().some((each) => each && 'result' in each && asked.has(each.id));
}

/** The id of the request, when it is one to subscribe. */
function subscriptionAsked(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('method' in message)) return undefined;
  return message.method === SUBSCRIBE && 'id' in message ? message.id : undefined;
}
