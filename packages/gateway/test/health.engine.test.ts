import { createCoordination, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { describeWithEngine } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { call, connect, openTestGateway } from './test-gateway.ts';

describeWithEngine('redis', (engine) => {
  it('[G6] fabric.health says that Redis is away, and that it is back', async () => {
    const { url } = engine();
    const store = await openStore({ kind: 'redis', url }, { log: silentLog });
    const coordination = createCoordination({ store, log: silentLog });
    const config = { coordination: { kind: 'redis', url } };
    await using gateway = await openTestGateway({}, { config, coordination });
    await using client = await connect(gateway.url);
    const health = async () => (await call(client, 'fabric.health', {})).payload;

    expect(await health()).toMatchObject({
      status: 'ok',
      engines: { coordination: { kind: 'redis', status: 'ok', latency_ms: expect.any(Number) } },
    });
    await engine().stop();
    expect(await health()).toMatchObject({
      ok: true,
      status: 'degraded',
      engines: { coordination: { kind: 'redis', status: 'offline', code: expect.any(String) } },
    });
    await engine().restart();
    await expect
      .poll(async () => (await health()).engines.coordination.status, { timeout: 30_000 })
      .toBe('ok');
    await coordination.close();
    await store.close();
  });
});
