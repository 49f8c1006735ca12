// Subscriptions against a gateway that answers late, refuses for a while, or pushes too early.

import { describe, expect, it } from 'vitest';
import {
  type CoordinationClient,
  openCoordinationClient,
  type SubscriptionHandlers,
  webSocketConnect,
} from '../src/index.ts';
import { MAX_WAITING } from '../src/subscription.ts';
import { FakeGateway, refusal } from './support/fake-gateway.ts';

const SUBSCRIBE = 'context_coordinator.subscribe';
const UNSUBSCRIBE = 'context_coordinator.unsubscribe';
const GET = 'context_coordinator.get';

/** A gateway whose subscriptions are named as their sessions, and a client of it. */
async function begin() {
  const gateway = await FakeGateway.open();
  gateway.answers[SUBSCRIBE] = ({ params }) => begun(params);
  gateway.answers[UNSUBSCRIBE] = () => ({ result: { unsubscribed: true } });
  const connect = webSocketConnect({ url: gateway.url });
  const backoffMs = { least: 1, most: 20 };
  const client = await openCoordinationClient({
    connect,
    agentId: 'a',
    backoffMs,
    requestMs: 1_000,
  });
  const say = (what: string, id: string, fields: object = {}) =>
    gateway.say({
      method: `context_coordinator.${what}`,
      params: { session_id: id, subscription_id: id, ...fields },
    });
  const update = (id: string, cursor: number) =>
    say('update', id, { op: 'merge', update: { n: cursor }, version: cursor, cursor });
  return {
    gateway,
    client,
    say,
    update,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

function begun({ session_id, after = 1 }: Readonly<Record<string, unknown>>) {
  return { result: { subscription_id: session_id, version: 1, cursor: after } };
}

async function follow(
  client: CoordinationClient,
  session_id: string,
  handlers: Partial<SubscriptionHandlers> = {},
) {
  const seen: unknown[] = [];
  const subscription = await client.subscribe(
    { session_id },
    {
      update: ({ cursor }) => void seen.push(cursor),
      snapshot: ({ cursor }) => void seen.push(`snapshot ${cursor}`),
      ended: ({ details }) => void seen.push(`ended ${details.rpc}`),
      ...handlers,
    },
  );
  return { subscription, seen };
}

describe('subscriptions that begin again', () => {
  it('lose no early push while others are begun', async () => {
    await using at = await begin();
    const { gateway, client, update } = at;
    const [a, b] = [await follow(client, 'a'), await follow(client, 'b')];
    gateway.answers[SUBSCRIBE] = ({ params }) => {
      if (params.session_id === 'a') update('a', 2);
      else update('a', 3);
      return begun(params);
    };
    gateway.cut();
    await client.call('mcp.status', {});
    update('b', 2);
    await expect.poll(() => [a.seen, b.seen]).toEqual([[2, 3], [2]]);
  });

  it('deliver nothing before the subscriber has them', async () => {
    await using at = await begin();
    const { gateway, client, update } = at;
    gateway.answers[SUBSCRIBE] = ({ params }) => {
      update('a', 2);
      return begun(params);
    };
    const seen: unknown[] = [];
    const subscription = await client.subscribe(
      { session_id: 'a' },
      { update: () => void seen.push(subscription.cursor) },
    );
    await expect.poll(() => seen).toEqual([2]);
  });

  it('ask again from their cursor for what was too much to be kept', async () => {
    await using at = await begin();
    const { gateway, client, update } = at;
    const most = MAX_WAITING + 5;
    gateway.answers[SUBSCRIBE] = ({ params }) => {
      for (let n = Number(params.after ?? 1) + 1; n <= most; n += 1) update('a', n);
      return begun(params);
    };
    const { seen } = await follow(client, 'a');
    await expect.poll(() => seen.at(-1)).toBe(most);
    expect(seen).toEqual(Array.from({ length: most - 1 }, (_, n) => n + 2));
    expect(gateway.of(SUBSCRIBE).map(({ params }) => params.after)).toEqual([
      undefined,
      MAX_WAITING + 1,
    ]);
    expect(gateway.of(UNSUBSCRIBE)).toHaveLength(1);
  });

  it('are tried again when they are refused for a while, and meanwhile hold up nothing', async () => {
    await using at = await begin();
    const { gateway, client, update } = at;
    const { seen } = await follow(client, 'a');
    let refusals = 0;
    gateway.answers[SUBSCRIBE] = ({ params }) => {
      refusals += 1;
      return refusals < 3 ? refusal(-32603) : begun(params);
    };
    gateway.cut();
    await client.call('mcp.status', {});
    expect(refusals).toBe(1);
    await expect.poll(() => refusals).toBe(3);
    update('a', 2);
    await expect.poll(() => seen).toEqual([2]);
  });

  it.each([-32004, -32001])('end when they are refused for good: %i', async (code) => {
    await using at = await begin();
    const { gateway, client } = at;
    const { seen } = await follow(client, 'a');
    gateway.answers[SUBSCRIBE] = () => refusal(code);
    gateway.cut();
    await expect.poll(() => seen).toEqual([`ended ${code}`]);
  });

  it.each([
    ['the session is refused', SUBSCRIBE, -32004],
    ['the client is not accepted any more', 'agent_registry.heartbeat', -32001],
  ])('tell what was received before they end, when %s', async (_, method, code) => {
    await using at = await begin();
    const { gateway, client, update } = at;
    const { promise: time, resolve: goOn } = Promise.withResolvers<void>();
    const told: unknown[] = [];
    await follow(client, 'a', {
      update: async ({ cursor }) => {
        await time;
        told.push(cursor);
      },
      ended: ({ details }) => void told.push(`ended ${details.rpc}`),
    });
    for (const cursor of [2, 3, 4]) update('a', cursor);
    await client.call('mcp.status', {});
    gateway.answers[method] = () => refusal(code, { code: 'AUTH_DENIED' });
    gateway.cut();
    await expect.poll(() => gateway.of(method).at(-1)?.connection).toBe(2);
    await client.call('mcp.status', {}).catch(() => {});
    expect(told).toEqual([]);
    goOn();
    await expect.poll(() => told).toEqual([2, 3, 4, `ended ${code}`]);
  });

  it('pass over a push without a cursor', async () => {
    await using at = await begin();
    const { client, say, update } = at;
    const events: unknown[] = [];
    const { seen } = await follow(client, 'a', { event: (event) => void events.push(event) });
    update('a', 2);
    say('something_new', 'a');
    for (const cursor of [2, 1, 3]) update('a', cursor);
    await expect.poll(() => seen).toEqual([2, 3]);
    expect(events).toEqual([]);
  });

  it('are taken back when they were closed meanwhile', async () => {
    await using at = await begin();
    const { gateway, client } = at;
    const { subscription } = await follow(client, 'a');
    const { promise: asked, resolve } = Promise.withResolvers<object>();
    gateway.answers[SUBSCRIBE] = ({ id, params }) => void resolve({ id, ...begun(params) });
    gateway.cut();
    const answer = await asked;
    await subscription.close();
    gateway.say(answer);
    await expect.poll(() => gateway.of(UNSUBSCRIBE)).toHaveLength(1);
    await client.call('mcp.status', {});
    expect(gateway.of(UNSUBSCRIBE)[0]?.params.subscription_id).toBe('a');
  });
});

describe('a subscription that needs a snapshot', () => {
  it.each([
    ['is refused', () => refusal(-32603)],
    ['gets no answer', () => undefined],
  ])('asks again when the snapshot %s, and delivers nothing before it', async (_, fails) => {
    await using at = await begin();
    const { gateway, client, say, update } = at;
    const { seen } = await follow(client, 'a');
    gateway.answers[GET] = () =>
      gateway.of(GET).length < 3 ? fails() : { result: { context: {}, version: 50, cursor: 50 } };
    update('a', 2);
    say('snapshot_required', 'a');
    update('a', 51);
    await expect.poll(() => seen).toEqual([2, 'snapshot 50', 51]);
  });

  it('takes it on the next connection when the first one was lost', async () => {
    await using at = await begin();
    const { gateway, client, say, update } = at;
    const { seen } = await follow(client, 'a');
    gateway.answers[GET] = () => undefined;
    say('snapshot_required', 'a');
    await expect.poll(() => gateway.of(GET)).toHaveLength(1);
    gateway.answers[SUBSCRIBE] = ({ params }) => {
      update('a', 2);
      return begun(params);
    };
    gateway.cut();
    await expect.poll(() => gateway.of(GET).length).toBeGreaterThan(1);
    expect(seen).toEqual([]);
    gateway.answers[GET] = () => ({ result: { context: {}, version: 1, cursor: 1 } });
    await expect.poll(() => seen).toEqual(['snapshot 1', 2]);
    expect(gateway.of(SUBSCRIBE).at(-1)?.params.after).toBe(1);
  });

  it('ends when the snapshot is refused for good', async () => {
    await using at = await begin();
    const { gateway, client, say, update } = at;
    const { seen } = await follow(client, 'a');
    gateway.answers[GET] = () => refusal(-32004);
    say('snapshot_required', 'a');
    update('a', 51);
    await expect.poll(() => seen).toEqual(['ended -32004']);
  });
});
