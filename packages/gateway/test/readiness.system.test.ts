import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createCoordination, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, KEY, openTestGateway } from './test-gateway.ts';

const FULL = `CREATE TRIGGER full BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'disk full'); END`;

/** A gateway on an embedded store; from the second start on its disk is full. */
async function openOnFullDisk() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'coordination.db');
  const open = () => openStore({ kind: 'embedded', path }, { log: silentLog });
  await (await open()).close();
  const database = new DatabaseSync(path);
  database.exec(FULL);
  database.close();
  const store = await open();
  const coordination = createCoordination({ store, log: silentLog });
  const gateway = await openTestGateway({ worker: { run: answers('done') } }, { coordination });
  return {
    url: gateway.url,
    async rpc(method: string, params: object = {}) {
      const response = await fetch(`${gateway.url}/rpc`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      return response.json();
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('a gateway whose coordination store has failed for good', () => {
  it('is not ready any more and says why, wherever it is asked; calls go on', async () => {
    await using world = await openOnFullDisk();
    const ready = await fetch(`${world.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([200, 'ready\n']);
    expect(await world.rpc('mcp.status')).toMatchObject({ result: { ok: true } });

    const failed = { code: -32010, data: { reason: 'engine_unavailable' } };
    const refused = await world.rpc('session_manager.create', { session_id: 's', agent_id: 'a' });
    expect(refused).toMatchObject({ error: failed });

    const unready = await fetch(`${world.url}/readyz`);
    expect(unready.status).toBe(503);
    expect(await unready.text()).toBe('The coordination store cannot be written\n');
    expect(await world.rpc('mcp.status')).toMatchObject({ error: failed });
    await using client = await connect(world.url);
    expect((await call(client, 'fabric.health', {})).payload).toMatchObject({
      status: 'degraded',
      engines: { coordination: { status: 'offline', reason: 'engine_unavailable' } },
    });
    const work = { agent_id: 'worker', capability: 'work', task: 'think' };
    const { payload } = await call(client, 'fabric.call', work);
    expect(payload).toMatchObject({ ok: true });
  });
});
