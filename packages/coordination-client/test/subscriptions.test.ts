import type { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { ContextSnapshot, SubscribeParams } from '../src/index.ts';
import { ClientWorld } from './support/client-world.ts';

type Message = Record<string, unknown>;

/** Somebody who writes, and a reader on a link of its own. */
async function begin(at: ClientWorld) {
  const writer = await at.open('writer', at.anotherLink());
  const { session_id } = await writer.sessions.create({ mode: 'cas' });
  const reader = await at.open('reader');
  await reader.sessions.join({ session_id });
  const write = async (update: Message) =>
    await writer.context.update({ session_id, update: update as never });
  const subscribe = async (params: Omit<SubscribeParams, 'session_id'> = {}) => {
    const seen: unknown[] = [];
    const snapshots: ContextSnapshot[] = [];
    const reasons: FabricError[] = [];
    const subscription = await reader.subscribe(
      { session_id, ...params },
      {
        update: ({ update }) => void seen.push(update),
        snapshot: (snapshot) => void snapshots.push(snapshot),
        ended: (reason) => void reasons.push(reason),
      },
    );
    const push = (method: string, fields: Message) => {
      const named = { session_id, subscription_id: subscription.id };
      at.link.say({ method: `context_coordinator.${method}`, params: { ...named, ...fields } });
    };
    return { subscription, seen, snapshots, reasons, push };
  };
  return { writer, reader, session_id, write, subscribe };
}

describe('subscriptions of a client', () => {
  it.each(['session_ended', 'not_a_member'])(
    'says on a live connection that a subscription has ended: %s',
    async (reason) => {
      await using at = new ClientWorld();
      const { writer, reader, session_id, write, subscribe } = await begin(at);
      const { subscription, seen, reasons } = await subscribe();
      await write({ before: 1 });
      if (reason === 'session_ended') await writer.sessions.end({ session_id });
      else await writer.sessions.revoke({ session_id, member: 'reader' });
      await expect.poll(() => reasons).toMatchObject([{ details: { rpc: -32004, reason } }]);
      expect(seen).toEqual([{ before: 1 }]);
      const sent: string[] = [];
      at.link.onSend = ({ method }) => sent.push(method) > 0;
      at.link.cut();
      await reader.agents.list({});
      await subscription.close();
      expect(sent).toEqual(['agent_registry.heartbeat', 'agent_registry.list']);
      expect(reasons).toHaveLength(1);
    },
  );

  it('says once that a subscription has ended', async () => {
    await using at = new ClientWorld();
    const { subscribe } = await begin(at);
    const { reasons, push } = await subscribe();
    push('subscription_ended', { reason: 'session_ended' });
    push('subscription_ended', { reason: 'session_ended' });
    await expect.poll(() => reasons.length).toBeGreaterThan(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(reasons).toHaveLength(1);
  });

  it('continues when a subscriber fails, also in its handler of the end', async () => {
    await using at = new ClientWorld();
    const { writer, reader, session_id, write, subscribe } = await begin(at);
    const fail = () => {
      throw new Error('failed');
    };
    await reader.subscribe({ session_id }, { update: fail, ended: fail });
    const { seen } = await subscribe();
    await write({ a: 1 });
    await expect.poll(() => seen).toEqual([{ a: 1 }]);
    at.goDown();
    await writer.sessions.end({ session_id });
    at.link.isDown = false;
    await reader.agents.list({});
    expect(at.link.connections).toBe(2);
  });

  it('loses no push that comes before the answer to subscribe', async () => {
    await using at = new ClientWorld();
    const { write, subscribe } = await begin(at);
    let answer: Message | undefined;
    const pushes: unknown[] = [];
    at.link.onAnswer = (message) => {
      const { result, method } = message as { result?: Message; method?: string };
      if (method === 'context_coordinator.update') pushes.push(message);
      if (result?.subscription_id === undefined || answer) return true;
      answer = message;
      return false;
    };
    const subscribing = subscribe();
    await expect.poll(() => answer).toBeDefined();
    await write({ early: 1 });
    await write({ early: 2 });
    await expect.poll(() => pushes).toHaveLength(2);
    at.link.say(answer ?? {});
    const { seen } = await subscribing;
    await expect.poll(() => seen).toEqual([{ early: 1 }, { early: 2 }]);
  });

  it('goes on after the cursor of the snapshot, here and on the next connection', async () => {
    await using at = new ClientWorld();
    const { reader, write, subscribe } = await begin(at);
    const { subscription, seen, snapshots, push } = await subscribe();
    at.link.onAnswer = ({ method }) => method === undefined;
    for (let n = 1; n <= 3; n += 1) await write({ n });
    at.link.onAnswer = () => true;
    push('snapshot_required', { version: 1, cursor: 1 });
    await expect.poll(() => snapshots).toHaveLength(1);
    const cursor = snapshots[0]?.cursor ?? 0;
    expect(subscription.cursor).toBe(cursor);
    push('update', { op: 'merge', update: { n: 3 }, version: cursor, cursor });
    const asked: unknown[] = [];
    at.link.onSend = ({ method, params }) => {
      if (method === 'context_coordinator.subscribe') asked.push(params.after);
      return true;
    };
    at.link.cut();
    await reader.agents.list({});
    expect(asked).toEqual([cursor]);
    await write({ n: 4 });
    await expect.poll(() => seen).toEqual([{ n: 4 }]);
  });

  it('gives of a snapshot only what was subscribed to', async () => {
    await using at = new ClientWorld();
    const { write, subscribe } = await begin(at);
    await write({ 'a/1': 1, 'a/2': 2, b: 3, c: 4 });
    const { snapshots, push } = await subscribe({ keys: ['a/', 'b'] });
    push('snapshot_required', { version: 1, cursor: 1 });
    await expect.poll(() => snapshots).toHaveLength(1);
    expect(snapshots[0]?.context).toEqual({ 'a/1': 1, 'a/2': 2, b: 3 });
  });

  it('asks for no context that it does not follow', async () => {
    await using at = new ClientWorld();
    const { write, subscribe } = await begin(at);
    await write({ a: 1 });
    const { snapshots, push } = await subscribe({ types: ['session.agent_joined'] });
    const asked: unknown[] = [];
    at.link.onSend = ({ method, params }) => {
      if (method === 'context_coordinator.get') asked.push(params.keys);
      return true;
    };
    push('snapshot_required', { version: 1, cursor: 1 });
    await expect.poll(() => snapshots).toHaveLength(1);
    expect([asked, snapshots[0]?.context]).toEqual([[[]], {}]);
  });
});
