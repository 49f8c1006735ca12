import { createCoordination, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { describeWithEngine } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { call, connect, openTestGateway } from '../test-gateway.ts';

const uri = 'starloom://sessions/s/context';
const patience = { timeout: 30_000, interval: 50 };

async function openOn(url: string) {
  const store = await openStore({ kind: 'redis', url }, { log: silentLog });
  const coordination = createCoordination({ store, log: silentLog });
  const gateway = await openTestGateway({}, { coordination });
  return {
    url: gateway.url,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
    },
  };
}

describeWithEngine('redis', (engine) => {
  it('a session of one gateway is a resource of another, also when Redis was away', async () => {
    await using here = await openOn(engine().url);
    await using there = await openOn(engine().url);
    await using writer = await connect(here.url);
    await using reader = await connect(there.url);
    const write = (n: number) =>
      call(writer, 'context.update', { session_id: 's', update: { n } }).then(
        ({ payload }) => payload.ok,
      );
    const read = async () => {
      const [content] = (await reader.readResource({ uri })).contents;
      return JSON.parse(content && 'text' in content ? content.text : '').context;
    };
    let told = 0;
    reader.setNotificationHandler('notifications/resources/updated', () => {
      told += 1;
    });
    await call(writer, 'session.create', { session_id: 's', agent_id: 'writer', mode: 'cas' });
    const first = await reader.listen({ resourceSubscriptions: [uri] });
    expect(await write(1)).toBe(true);
    await expect.poll(() => told, patience).toBeGreaterThan(0);
    expect(await read()).toEqual({ n: 1 });
    await first.close();

    await engine().stop();
    await expect(reader.readResource({ uri })).rejects.toMatchObject({ code: -32010 });
    expect((await reader.listResources()).resources).toEqual([]);
    await reader.listen({ resourceSubscriptions: [uri] });
    await engine().restart();
    const before = told;
    await expect.poll(() => write(2), patience).toBe(true);
    await expect.poll(() => told, patience).toBeGreaterThan(before);
    expect(await read()).toEqual({ n: 2 });
  });
});
