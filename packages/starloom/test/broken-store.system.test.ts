import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type RunningGateway, startGateway } from './running-gateway.ts';

const patience = { timeout: 20_000, interval: 200 };

async function rpc({ url, home }: RunningGateway, method: string, params: object = {}) {
  const { key } = JSON.parse(await readFile(join(home, 'client.json'), 'utf8'));
  const answer = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return await answer.json();
}

it('starts and serves calls on a broken coordination store, and uses it once it can', async () => {
  await using gateway = await startGateway({ 'home/coordination.db': 'no database '.repeat(500) });
  const call = await gateway.run('call', 'echo', 'say', 'hello', '--json');
  expect(JSON.parse(call.stdout)).toMatchObject({ ok: true, result: { answer: 'hello' } });
  const unready = await fetch(`${gateway.url}/readyz`);
  expect([unready.status, await unready.text()]).toEqual([
    503,
    'Coordination is not available: This file is not a coordination store\n',
  ]);
  const health = JSON.parse((await gateway.run('health', '--json')).stdout);
  expect(health).toMatchObject({
    status: 'degraded',
    engines: { coordination: { status: 'offline', reason: 'engine_unavailable' } },
  });
  expect((await gateway.run('health')).stdout).toMatch(/coordination.*offline/i);
  expect(await rpc(gateway, 'session_manager.create', { agent_id: 'a' })).toMatchObject({
    error: { code: -32010, data: { reason: 'engine_unavailable', details: expect.any(String) } },
  });
  await rm(join(gateway.home, 'coordination.db'));
  await expect.poll(async () => (await fetch(`${gateway.url}/readyz`)).status, patience).toBe(200);
  expect(await rpc(gateway, 'session_manager.create', { agent_id: 'a' })).toHaveProperty(
    'result.session_id',
  );
  const { stderr } = await gateway.stop();
  expect(stderr).toMatch(/"level":"?(50|error)"?.*coordination is not available/);
});
