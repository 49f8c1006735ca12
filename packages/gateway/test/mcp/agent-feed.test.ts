import { FabricError, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { AgentFeed, type AgentFeedOptions } from '../../src/mcp/agent-feed.ts';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';

/** An agent that agrees to these resources, and every subscription it was asked for. */
function openAgent(agrees: (uri: string) => boolean = () => true) {
  const asked: { uris: readonly string[]; signal: AbortSignal; end: () => void }[] = [];
  let notify: Parameters<AgentFeedOptions['listen']>[2] = () => {};
  const feed = new AgentFeed({
    log: silentLog,
    listen: (uris, signal, onNotification) =>
      new Promise((resolve, reject) => {
        asked.push({ uris, signal, end: () => resolve({}) });
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        notify = onNotification;
        const notifications = { resourceSubscriptions: uris.filter(agrees) };
        onNotification({ method: ACKNOWLEDGED, params: { notifications } });
      }),
  });
  const update = (uri: string) => notify({ method: UPDATED, params: { uri } });
  return { feed, asked, update };
}

describe("updates of an agent's resources", () => {
  it('reach everyone who follows the resource, over one subscription', async () => {
    const { feed, asked, update } = openAgent();
    const heard: string[] = [];
    await feed.follow('a', () => heard.push('first a'));
    await feed.follow('a', () => heard.push('second a'));
    await feed.follow('b', () => heard.push('b'));
    expect(asked.map(({ uris }) => uris)).toEqual([['a'], ['a', 'b']]);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    update('a');
    update('b');
    update('c');
    expect(heard).toEqual(['first a', 'second a', 'b']);
    feed.close();
  });

  it('are not promised where the agent does not agree', async () => {
    const { feed } = openAgent((uri) => uri === 'a');
    expect(await feed.follow('b', () => {})).toBeUndefined();
    expect(await feed.follow('a', () => {})).toBeDefined();
    feed.close();
  });

  it('are not promised by an agent that has no subscriptions', async () => {
    const listen = () => Promise.reject(new FabricError('UPSTREAM_ERROR', 'no such method'));
    const feed = new AgentFeed({ log: silentLog, listen });
    expect(await feed.follow('a', () => {})).toBeUndefined();
  });

  it('end at the agent when the last client wants no more', async () => {
    const { feed, asked, update } = openAgent();
    let heard = 0;
    const first = await feed.follow('a', () => {
      heard += 1;
    });
    const second = await feed.follow('a', () => {});
    first?.stop();
    expect(asked.at(-1)?.signal.aborted).toBe(false);
    second?.stop();
    expect(asked.at(-1)?.signal.aborted).toBe(true);
    update('a');
    expect(heard).toBe(0);
  });

  it('are subscribed to again when that broke, and all count as updated', async () => {
    const { feed, asked } = openAgent();
    let heard = 0;
    await feed.follow('a', () => {
      heard += 1;
    });
    asked[0]?.end();
    await expect.poll(() => heard, { timeout: 5_000 }).toBe(1);
    expect(asked).toHaveLength(2);
    feed.restart();
    await expect.poll(() => asked.length, { timeout: 5_000 }).toBe(3);
    feed.close();
  });
});
