import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { Closers } from '@starloom/core';
import type { MemoryAgent } from '@starloom/core/testing';
import { createMemoryJobEngine } from '@starloom/jobs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call, connect, openTestGateway } from './test-gateway.ts';

const secret = Buffer.alloc(32, 3);
const inputs = [{ id: 'q', response: { action: 'accept', content: { text: 'red' } } }];

describe('a question at one gateway of a realm', () => {
  let opened: Closers;
  let store: MemoryCoordinationStore;
  let jobs: ReturnType<typeof createMemoryJobEngine>;

  beforeEach(() => {
    opened = new Closers();
    store = new MemoryCoordinationStore();
    jobs = createMemoryJobEngine();
    opened.add(() => store.close());
  });
  afterEach(() => opened.close());

  /** Its agent says which gateway called it. */
  const open = async (gatewayId: string, run: (at: string) => MemoryAgent) => {
    const realm = { secret, store: toRealmStore(store) };
    const options = { jobs, realm, gatewayId, conversationKey: secret };
    const gateway = await openTestGateway({ percy: { run: run(gatewayId) } }, options);
    opened.add(() => gateway[Symbol.asyncDispose]());
    const client = await connect(gateway.url);
    opened.add(() => client.close());
    return client;
  };

  it('[G35] of a job is answered, and its events are read, at another one', async () => {
    const ran: string[] = [];
    const asking = (at: string): MemoryAgent =>
      async function* (_envelope, _signal, { ask }) {
        ran.push(at);
        const [response] = (await ask?.([{ id: 'q', kind: 'text', message: 'Which?' }])) ?? [];
        yield { type: 'token', data: { text: 'red it is' } };
        yield { type: 'final', data: { answer: JSON.stringify(response?.content) } };
      };
    const clients = { a: await open('a', asking), b: await open('b', asking) };
    const work = { capability: 'work', async: true };
    const { job_id } = (await call(clients.a, 'fabric.call', work)).payload;
    const stateAt = async (name: 'a' | 'b') =>
      (await call(clients[name], 'fabric.job.status', { job_id })).payload.job.state;
    await expect.poll(() => stateAt('b')).toBe('awaiting_input');
    const other = clients[ran[0] === 'a' ? 'b' : 'a'];
    const { payload } = await call(other, 'fabric.job.input', { job_id, inputs });
    expect(payload.ok).toBe(true);
    const { payload: streamed, events } = await call(other, 'fabric.job.stream', { job_id });
    expect(streamed.job).toMatchObject({
      state: 'succeeded',
      result: { result: { answer: '{"text":"red"}' } },
    });
    expect(JSON.stringify(events)).toContain('red it is');
    expect(ran).toHaveLength(1);
  });

  it('that waits in the process of one says so at another one', async () => {
    const asking = (): MemoryAgent =>
      async function* (_envelope, _signal, { ask }) {
        await ask?.([{ id: 'q', kind: 'text', message: 'Which?' }]);
        yield { type: 'final', data: { answer: 'done' } };
      };
    const [here, there] = [await open('a', asking), await open('b', asking)];
    const work = { agent_id: 'percy', capability: 'work' };
    const { payload: asked } = await call(here, 'fabric.call', work);
    const { conversation_id } = asked.error.details;
    const again = { ...work, conversation_id, inputs };
    const { payload: refused } = await call(there, 'fabric.call', again);
    expect(refused.error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'other_gateway' },
    });
    expect((await call(here, 'fabric.call', again)).payload.ok).toBe(true);
  });

  it('that the agent keeps is answered at any of them, and once', async () => {
    const asking = (at: string): MemoryAgent =>
      async function* (_envelope, _signal, { ask, responses: given }) {
        if (given) yield { type: 'final', data: { answer: at } };
        else await ask?.([{ id: 'q', kind: 'text', message: 'Which?' }], { handle: { at } });
      };
    const [here, there] = [await open('a', asking), await open('b', asking)];
    const work = { agent_id: 'percy', capability: 'work' };
    const { payload: asked } = await call(here, 'fabric.call', work);
    const { conversation_id } = asked.error.details;
    const again = { ...work, conversation_id, inputs };
    const answered = await call(there, 'fabric.call', again);
    expect(answered.payload.result).toMatchObject({ answer: 'b' });
    for (const client of [here, there]) {
      const { payload } = await call(client, 'fabric.call', again);
      expect(payload.error.details).toMatchObject({ reason: 'no_open_question' });
    }
  });
});
