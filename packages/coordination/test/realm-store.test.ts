import type { Json } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { METHODS, toRealmStore } from '../src/index.ts';
import { AGENTS, BINDINGS, partitionOf, SESSIONS } from '../src/partitions.ts';
import { World } from './support/world.ts';

const REVOCATIONS = 'realm:revocations';

describe('what gateways share among themselves', () => {
  it('is in partitions that no name of a client leads to', () => {
    const { realm, ...ofClients } = partitionOf;
    expect(realm('revocations')).toBe(REVOCATIONS);
    for (const toPartition of Object.values(ofClients)) {
      for (const name of ['', 'realm', REVOCATIONS, `../${REVOCATIONS}`, `x:${REVOCATIONS}`]) {
        expect(toPartition(name)).not.toMatch(/^realm:/);
      }
    }
    expect([AGENTS, BINDINGS, SESSIONS].filter((name) => name.startsWith('realm:'))).toEqual([]);
  });

  it('is neither read, written nor erased by any method, whatever a client names', async () => {
    await using world = new World();
    const realm = toRealmStore(world.store);
    const key = 'prn:ada';
    await realm.commit('revocations', { writes: [{ kind: 'put', key, value: { epoch: 1 } }] });
    const client = await world.agent('a');
    await client.call('session_manager.create', { session_id: 's', agent_id: 'a' });
    const answers: Json[] = [];
    for (const method of Object.keys(METHODS)) {
      for (const name of [REVOCATIONS, 'revocations', `\u0000${REVOCATIONS}`]) {
        for (const session_id of ['s', name]) {
          const params = { ...everythingNamed(name), session_id, agent_id: 'a' };
          const message = { jsonrpc: '2.0' as const, id: 1, method, params };
          answers.push(JSON.stringify(await client.peer.handle(message)));
        }
      }
    }
    expect(answers.join('\n')).not.toContain(key);
    const { version, entries } = await realm.read('revocations');
    expect([version, [...entries.keys()]]).toEqual([1, [key]]);
  });
});

function everythingNamed(name: string): Record<string, Json> {
  const names = ['resource', 'key', 'tool', 'chunk_id', 'capability', 'checkpoint_id', 'scope'];
  const given = Object.fromEntries(names.map((field) => [field, name]));
  return { ...given, update: { [name]: 1 }, op: 'merge', keys: [name], content: 'x' };
}
