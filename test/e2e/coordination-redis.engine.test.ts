import { describeWithEngine } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { startGateway } from '../../packages/starloom/test/running-gateway.ts';
import { byHttp, byStdio, byWebSocket, placeOf } from './coordination-clients.ts';
import { onboard, updatesOf, write } from './onboarding.ts';

describeWithEngine('redis', (engine) => {
  const start = () => {
    const { url } = engine();
    const config = `registry: {kind: yaml, path: ./agents.yaml}\ncoordination: {kind: redis, url: '${url}'}\n`;
    return startGateway({ 'starloom.yaml': config });
  };

  it('[C1][C5][C12] onboards agents as written over each way in, and all see one order', async () => {
    await using here = await start();
    await using there = await start();
    await using http = await byHttp(await placeOf(here.home));
    await using socket = await byWebSocket(await placeOf(there.home));
    await using stdio = await byStdio(here.folder, here.home);
    const clients = { http, socket, stdio };
    const names = Object.keys(clients) as (keyof typeof clients)[];
    for (const name of names) await onboard(clients[name], name, 'report');

    const rounds = [0, 1, 2, 3];
    await Promise.all(
      names.map(async (name) => {
        for (const n of rounds) await write(clients[name], 'report', name, { [name]: n });
      }),
    );

    const [first, ...others] = await Promise.all(
      names.map((name) => updatesOf(clients[name], names.length * rounds.length)),
    );
    expect(first?.map(({ version }) => version)).toEqual(
      first?.map(({ version }) => version).toSorted((a, b) => a - b),
    );
    for (const other of others) expect(other).toEqual(first);
    const context = { session_id: 'report', agent_id: 'http' };
    const { result } = await http.ask('context_coordinator.get', context);
    expect(result.context).toEqual({ http: 3, socket: 3, stdio: 3 });
  });

  it('[C1] keeps nothing in the gateway: another one goes on where a killed one was', async () => {
    await using kept = await start();
    const killed = await start();
    const [a, b] = [
      await byHttp(await placeOf(killed.home)),
      await byHttp(await placeOf(kept.home)),
    ];
    await a.ask('agent_registry.register', { agent_id: 'a', capabilities: ['x'] });
    await a.ask('session_manager.create', { session_id: 'life', agent_id: 'a' });
    const lock = await a.ask('memory_locker.acquire', { session_id: 'life', agent_id: 'a' });
    const { lock_token } = lock.result;
    process.kill(killed.pid, 'SIGKILL');
    await killed[Symbol.asyncDispose]();

    const update = { session_id: 'life', agent_id: 'a', update: { n: 1 } };
    const refused = await b.ask('context_coordinator.update', update);
    expect(refused.error.code).toBe(-32014);
    const written = await b.ask('context_coordinator.update', { ...update, lock_token });
    expect(written.error).toBeUndefined();
    const beaten = await b.ask('agent_registry.heartbeat', { agent_id: 'a' });
    expect(beaten.result.status).toBe('active');
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  });
});
