import { randomBytes } from 'node:crypto';
import type { AgentHandle, InputRequest } from '@starloom/core';
import type { MemoryAgent } from '@starloom/core/testing';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { call, connect, KEY, openTestGateway, STRANGER_KEY } from './test-gateway.ts';

const schema = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
};
const question: InputRequest = { id: 'name', kind: 'form', message: 'Your name?', schema };
const args = { agent_id: 'percy', capability: 'work', arguments: { task: 'greet' } };
const accept = (content: unknown, id = 'name') => [{ id, response: { action: 'accept', content } }];

/** Asks once; with a handle the answer comes with another call. */
const asking = (handle?: AgentHandle, requests = [question]): MemoryAgent =>
  async function* ({ input }, _signal, context) {
    if (!context.responses) yield { type: 'token', data: { text: 'Hm. ' } };
    const responses = context.responses ?? (await context.ask?.(requests, handle && { handle }));
    const content = responses?.map(({ action, content }) => content ?? action);
    const data = { content, task: input.arguments?.task, handle: context.handle };
    yield { type: 'final', data: { answer: 'done', data } };
  };

const ways = [
  ['waits for itself', { state: 7 }],
  ['waits in this process', undefined],
] as const;

describe.each(ways)('an agent that asks and %s', (_, handle) => {
  it('ends the call with INPUT_REQUIRED, and goes on where it stopped', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(handle) } });
    await using client = await connect(gateway.url);
    const first = await call(client, 'fabric.call', { ...args, stream: true });
    const { code, details } = first.payload.error;
    expect(code).toBe('INPUT_REQUIRED');
    expect(details).toMatchObject({
      agent_id: 'percy',
      inputs: [{ id: 'name', kind: 'form', schema }],
    });
    const last = first.events.at(-1);
    expect(last).toMatchObject({ data: { state: 'awaiting_input', inputs: [{ id: 'name' }] } });
    const { conversation_id } = details;
    const more = { capability: 'work', conversation_id, stream: true };
    const second = await call(client, 'fabric.call', { ...more, inputs: accept({ name: 'Ada' }) });
    expect(second.payload).toMatchObject({
      ok: true,
      result: { data: { content: [{ name: 'Ada' }], task: 'greet' } },
    });
    expect(second.events.map(({ seq }) => seq)).toEqual(second.events.map((_, n) => n + 1));
    const third = await call(client, 'fabric.call', { ...more, inputs: accept({ name: 'Eve' }) });
    expect(third.payload.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'no_open_question' },
    });
  });

  it.each([
    ['does not fit the schema', accept({ name: 7 }), 'answer_does_not_fit'],
    ['is missing', [], 'answer_missing'],
    ['was not asked for', accept({}, 'other'), 'no_open_question'],
    ['comes twice', [...accept({ name: 'a' }), ...accept({ name: 'b' })], 'answered_twice'],
  ])('refuses an answer that %s, and still takes the right one', async (_, inputs, reason) => {
    await using gateway = await openTestGateway({ percy: { run: asking(handle) } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', args);
    const { conversation_id } = payload.error.details;
    const wrong = await call(client, 'fabric.call', { ...args, conversation_id, inputs });
    expect(wrong.payload.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason, questions: [{ id: 'name', kind: 'form', schema }] },
    });
    const right = { ...args, conversation_id, inputs: accept({ name: 'Ada' }) };
    expect((await call(client, 'fabric.call', right)).payload.ok).toBe(true);
  });

  it('is answered by the principal that was asked, and by no other', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(handle) } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', args);
    const { conversation_id } = payload.error.details;
    const inputs = accept({ name: 'Eve' });
    await using stranger = await connect(gateway.url, 'auto', {
      authorization: `Bearer ${STRANGER_KEY}`,
    });
    const foreign = await call(stranger, 'fabric.call', { ...args, conversation_id, inputs });
    const unknown = await call(stranger, 'fabric.call', {
      ...args,
      conversation_id: 'c1.bm90aGluZyBhdCBhbGwsIGJ1dCBsb25nIGVub3VnaA',
      inputs,
    });
    for (const { payload: refused } of [foreign, unknown]) {
      expect(refused.error).toMatchObject({
        code: 'BAD_INPUT',
        details: { reason: 'unknown_conversation' },
      });
    }
    const own = await call(client, 'fabric.call', { ...args, conversation_id, inputs });
    expect(own.payload.ok).toBe(true);
  });

  it('is not answered with a key of the principal that may not use the agent', async () => {
    const owner = { principal: 'owner', tier: 'org' } as const;
    const psk = createPskVerifier([
      { ...owner, key_id: 'all', key: KEY, scopes: ['*'] },
      { ...owner, key_id: 'other', key: STRANGER_KEY, scopes: ['agent:other'] },
    ]);
    const agents = { percy: { run: asking(handle) }, other: { run: asking(handle) } };
    await using gateway = await openTestGateway(agents, { psk });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', args);
    const { conversation_id } = payload.error.details;
    const answer = { capability: 'work', conversation_id, inputs: accept({ name: 'Ada' }) };
    await using limited = await connect(gateway.url, 'auto', {
      authorization: `Bearer ${STRANGER_KEY}`,
    });
    const refused = await call(limited, 'fabric.call', answer);
    expect(refused.payload.error?.code).toMatch(/BAD_INPUT|CAPABILITY_NOT_FOUND/);
    expect((await call(client, 'fabric.call', answer)).payload.ok).toBe(true);
  });

  it('is answered after a restart, or says that it was interrupted', async () => {
    const conversationKey = randomBytes(32);
    const agents = { percy: { run: asking(handle) } };
    let conversation_id: string;
    {
      await using before = await openTestGateway(agents, { conversationKey });
      await using client = await connect(before.url);
      const { payload } = await call(client, 'fabric.call', args);
      conversation_id = payload.error.details.conversation_id;
    }
    await using after = await openTestGateway(agents, { conversationKey });
    await using client = await connect(after.url);
    const { payload } = await call(client, 'fabric.call', {
      capability: 'work',
      conversation_id,
      inputs: accept({ name: 'Ada' }),
    });
    if (handle) expect(payload.result.data).toMatchObject({ handle, content: [{ name: 'Ada' }] });
    else {
      expect(payload.error).toMatchObject({
        code: 'AGENT_OFFLINE',
        details: { reason: 'interrupted' },
      });
    }
  });
});

describe('an agent that asks too much', () => {
  it.each([
    [
      'a hundred questions at once',
      Array.from({ length: 100 }, (_, n) => ({ ...question, id: `q${n}` })),
    ],
    ['a question without end', [{ ...question, message: 'x'.repeat(100_000) }]],
    ['one id twice', [question, question]],
    ['nothing', []],
  ])('fails: %s', async (_, requests) => {
    await using gateway = await openTestGateway({ percy: { run: asking({}, requests) } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', args);
    expect(payload.error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'bad_question' },
    });
  });

  it('is ended when it asks for ever', async () => {
    // biome-ignore lint/correctness/useYield: it only asks
    const run: MemoryAgent = async function* (_envelope, _signal, context) {
      while (true) await context.ask?.([question]);
    };
    await using gateway = await openTestGateway({ percy: { run } });
    await using client = await connect(gateway.url);
    let { payload } = await call(client, 'fabric.call', args);
    let rounds = 1;
    while (payload.error.code === 'INPUT_REQUIRED' && rounds < 200) {
      const { conversation_id } = payload.error.details;
      const inputs = accept({ name: 'Ada' });
      ({ payload } = await call(client, 'fabric.call', { ...args, conversation_id, inputs }));
      rounds += 1;
    }
    expect(payload.error.details.reason).toBe('bad_question');
    expect(rounds).toBe(101);
  });

  it('is let go when a principal leaves too many questions open', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking() } });
    await using client = await connect(gateway.url);
    const open = await Promise.all(
      Array.from({ length: 130 }, () => call(client, 'fabric.call', args)),
    );
    const waiting = open.filter(({ payload }) => payload.error.details.conversation_id);
    expect(waiting).toHaveLength(128);
    for (const { payload } of open) expect(payload.error.code).toBe('INPUT_REQUIRED');
  });
});

describe('a conversation', () => {
  const remembering: MemoryAgent = async function* ({ input }, _signal, { handle, keep }) {
    const words = [...((handle?.words as string[] | undefined) ?? []), input.task];
    keep?.({ words });
    yield { type: 'final', data: { answer: words.join(' ') } };
  };

  it('goes on under the id that an answer carries, without fallback', async () => {
    await using gateway = await openTestGateway({
      percy: { run: remembering },
      other: { run: remembering },
    });
    await using client = await connect(gateway.url);
    const first = await call(client, 'fabric.call', { capability: 'work', task: 'one' });
    const { conversation_id, agent_id } = first.payload;
    const second = await call(client, 'fabric.call', {
      capability: 'work',
      task: 'two',
      conversation_id,
    });
    expect(second.payload).toMatchObject({ agent_id, result: { answer: 'one two' } });
    const third = await call(
      client,
      `${agent_id}.work`,
      { task: 'three' },
      {
        meta: { 'io.starloom/conversation': second.payload.conversation_id },
      },
    );
    expect(third.result.content).toEqual([{ type: 'text', text: 'one two three' }]);
    expect(third.result._meta).toHaveProperty(['io.starloom/conversation']);
    const answered = await call(client, 'fabric.call', {
      ...{ capability: 'work', conversation_id },
      inputs: accept({}),
    });
    expect(answered.payload.error.details.reason).toBe('no_open_question');
    const elsewhere = await call(client, 'fabric.call', {
      agent_id: agent_id === 'percy' ? 'other' : 'percy',
      capability: 'work',
      conversation_id,
    });
    expect(elsewhere.payload.error.details.reason).toBe('unknown_conversation');
  });
});
