import { describe, expect, it } from 'vitest';
import { openCoordinationClient } from '../src/index.ts';
import { ClientWorld, FAST } from './support/client-world.ts';

describe('the connection of a client', () => {
  it('sends a request again later whose first copy is still under way', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({ mode: 'cas' });
    const keys: unknown[] = [];
    at.link.onSend = ({ params }) => keys.push(params.idempotency_key) > 0;
    at.link.onAnswer = ({ id, result }) => {
      if (result === undefined || keys.length > 1) return true;
      const data = { reason: 'in_progress', retry_after_ms: 1, details: 'It is under way' };
      at.link.say({ id, error: { code: -32013, message: 'Conflict', data } });
      return false;
    };
    await client.context.update({ session_id, op: 'increment', update: { n: 1 } });
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    expect((await client.context.get({ session_id })).context).toEqual({ n: 1 });
  });

  it('makes another connection when a beat gets no answer', async () => {
    await using at = new ClientWorld({ heartbeatIntervalMs: 30 });
    const { connect } = at.link;
    const client = await openCoordinationClient({ connect, agentId: 'a', requestMs: 200, ...FAST });
    const reconnected = new Promise<void>((resolve) => client.once('reconnected', resolve));
    let dropped = 0;
    at.link.onSend = ({ method }) => {
      if (method !== 'agent_registry.heartbeat' || dropped > 0) return true;
      dropped += 1;
      return false;
    };
    await reconnected;
    expect(at.link.connections).toBeGreaterThan(1);
    await client.close();
  });
});
