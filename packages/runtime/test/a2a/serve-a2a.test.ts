import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toMeta } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it, vi } from 'vitest';
import { callTools, echo, scripted, tool } from '../core/world.ts';
import { bearer, message, openServed, post, rpc, stream, textOf, twoKeys } from './served.ts';

const WAIT = { timeout: 20_000, interval: 20 };

interface Card {
  readonly skills: readonly { readonly id: string }[];
  readonly signatures: readonly unknown[];
  readonly securitySchemes: Readonly<Record<string, unknown>>;
}

/** A model that waits until it is let go. */
function held(answer = 'at last') {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const provider = scripted(async () => {
    begun.resolve();
    await gate.promise;
    return answer;
  }, 'again');
  return { provider, letGo: gate.resolve, begun: begun.promise };
}

describe('an agent as A2A server', () => {
  it('[S6] answers a message as a task with the answer as an artifact', async () => {
    await using served = await openServed({ provider: scripted('Hello.') });
    const { result } = await rpc(served.url, 'SendMessage', message('hi'));
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(result.task.artifacts)).toBe('Hello.');
    const again = await rpc(served.url, 'GetTask', { id: result.task.id });
    expect(again.result).toEqual(result.task);
  });

  it('shows its exposed tools as skills of a signed card, without a key', async () => {
    const { authenticator } = twoKeys();
    const agent = { expose: { tools: ['ask', 'test:echo'], private: [] } };
    await using served = await openServed({
      ...{ provider: scripted('x'), tools: [echo], agent, authenticator },
    });
    const response = await fetch(`${served.url}/.well-known/agent-card.json`, {
      headers: { 'A2A-Version': '1.0' },
    });
    const card = (await response.json()) as Card;
    expect(card.skills.map(({ id }) => id)).toEqual(['ask', 'test.echo']);
    expect(card.signatures).toHaveLength(1);
    expect(card.securitySchemes.bearer).toBeDefined();
    const older = await (await fetch(`${served.url}/.well-known/agent-card.json`)).json();
    expect(older).toMatchObject({ protocolVersion: expect.stringMatching(/^0\.3/) });
  });

  it('calls an exposed tool that a data part names, and refuses every other', async () => {
    const hidden = tool('test:hidden', () => 'secret');
    const agent = { expose: { tools: ['test:echo'] } };
    await using served = await openServed({
      ...{ provider: scripted('x'), tools: [echo, hidden], agent },
    });
    const named = (skill: string) =>
      rpc(served.url, 'SendMessage', {
        message: {
          ...message('').message,
          parts: [{ data: { skill, arguments: { text: 'again' } } }],
        },
      });
    expect(textOf((await named('test.echo')).result.task.artifacts)).toBe('again');
    for (const skill of ['test:hidden', 'test.hidden', 'ask', 'nothing']) {
      const { error } = await named(skill);
      expect(error.code).toBe(-32_602);
      expect(JSON.stringify(error)).not.toContain('secret');
    }
  });

  it('speaks 0.3 to clients that name no version', async () => {
    await using served = await openServed({ provider: scripted('Old.') });
    const card = await fetch(`${served.url}/.well-known/agent-card.json`);
    expect(card.status).toBe(200);
    const params = {
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        parts: [{ kind: 'text', text: 'x' }],
      },
    };
    const { result } = await rpc(served.url, 'message/send', params, { 'A2A-Version': '0.3' });
    expect(result).toMatchObject({ kind: 'task', status: { state: 'completed' } });
    expect(result.artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: 'Old.' }]);
  });

  it('streams what the model says, and does not say text of an earlier step again', async () => {
    const provider = scripted(
      {
        segments: [
          { type: 'text', text: 'Let me look. ' },
          { type: 'tool_call', toolCall: { id: '1', name: 'test:echo', args: { text: 'x' } } },
        ],
      },
      'It is 42.',
    );
    await using served = await openServed({ provider, tools: [echo] });
    const items = await stream(served.url, 'SendStreamingMessage', message('hi'));
    const [first, ...updates] = items;
    expect(first?.task.status.state).toBe('TASK_STATE_SUBMITTED');
    let shown = '';
    for (const { artifactUpdate } of updates) {
      if (!artifactUpdate) continue;
      const said = textOf([artifactUpdate.artifact]);
      shown = artifactUpdate.append ? shown + said : said;
    }
    expect(shown).toBe('It is 42.');
    const ends = updates.filter(({ statusUpdate }) =>
      /COMPLETED|FAILED/.test(statusUpdate?.status.state ?? ''),
    );
    expect(ends).toHaveLength(1);
    expect(updates.at(-1)).toBe(ends[0]);
    const task = (await rpc(served.url, 'GetTask', { id: first?.task.id })).result;
    expect(textOf(task.artifacts)).toBe('It is 42.');
  });

  it('goes on without its client, and another stream joins the task', async () => {
    const { provider, letGo, begun } = held();
    await using served = await openServed({ provider });
    const [first] = await stream(served.url, 'SendStreamingMessage', message('hi'), () => true);
    await begun;
    const joined = stream(served.url, 'SubscribeToTask', { id: first?.task.id }, (item) => {
      if (item.task) letGo();
      return false;
    });
    const items = await joined;
    expect(items[0]?.task.status.state).toBe('TASK_STATE_WORKING');
    expect(items.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const task = (await rpc(served.url, 'GetTask', { id: first?.task.id })).result;
    expect(textOf(task.artifacts)).toBe('at last');
  });

  it('cancels a task, and the turn behind it ends', async () => {
    const { provider, begun } = held();
    await using served = await openServed({ provider });
    const sent = await rpc(served.url, 'SendMessage', {
      ...message('hi'),
      configuration: { returnImmediately: true },
    });
    await begun;
    const ended: string[] = [];
    served.agent.bus.on('STREAM:ERROR', ({ data }) => ended.push(data.code));
    const { result } = await rpc(served.url, 'CancelTask', { id: sent.result.task.id });
    expect(result.status.state).toBe('TASK_STATE_CANCELED');
    await vi.waitFor(() => expect(ended).toEqual(['CANCELLED']), WAIT);
  });

  it('refuses content that it does not take, and clients that take none of its answers', async () => {
    await using served = await openServed({ provider: scripted('x', 'y') });
    const parts = [{ url: 'https://example.org/a.zip', mediaType: 'application/zip' }];
    const odd = await rpc(served.url, 'SendMessage', message('', { parts }));
    expect(odd.error.code).toBe(-32_005);
    const accept = (...acceptedOutputModes: string[]) =>
      rpc(served.url, 'SendMessage', { ...message('x'), configuration: { acceptedOutputModes } });
    expect((await accept('video/mp4')).error.code).toBe(-32_005);
    expect((await accept('video/mp4', 'text/plain')).result.task.status.state).toMatch(/COMPLETED/);
  });

  it('answers a model that fails with a failed task', async () => {
    await using served = await openServed({ provider: scripted(new Error('boom')) });
    const { result } = await rpc(served.url, 'SendMessage', message('hi'));
    expect(result.task.status.state).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(result)).not.toContain('boom');
  });

  it.each([
    ['approve', 'ran', 'TASK_STATE_COMPLETED'],
    ['reject', 'did not run', 'TASK_STATE_COMPLETED'],
  ])('asks its caller for an approval, and goes on after "%s"', async (answer, ran, state) => {
    let runs = 0;
    const act = tool(
      'test:act',
      () => {
        runs += 1;
        return 'ran';
      },
      { approval: true },
    );
    const provider = scripted(callTools({ id: '1', name: 'test:act' }), 'Done.');
    await using served = await openServed({ provider, tools: [act] });
    const asked = (await rpc(served.url, 'SendMessage', message('act'))).result.task;
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(textOf([asked.status.message])).toContain('test:act');
    const place = { taskId: asked.id, contextId: asked.contextId };
    const odd = await rpc(served.url, 'SendMessage', message('perhaps', place));
    expect(odd.error.code).toBe(-32_602);
    const { result } = await rpc(served.url, 'SendMessage', message(answer, place));
    expect(result.task).toMatchObject({ id: asked.id, status: { state } });
    expect(runs).toBe(ran === 'ran' ? 1 : 0);
    expect((await rpc(served.url, 'SendMessage', message(answer, place))).error.code).toBe(-32_004);
  });

  it('asks no caller where agent.toml says so', async () => {
    const act = tool('test:act', () => 'no', { approval: true });
    const provider = scripted(callTools({ id: '1', name: 'test:act' }), 'I may not.');
    const toml = { a2a: { approvals: 'never' as const } };
    await using served = await openServed({ provider, tools: [act], toml });
    const { result } = await rpc(served.url, 'SendMessage', message('act'));
    expect(textOf(result.task.artifacts)).toBe('I may not.');
  });

  it('[S7] takes the words of its callers as untrusted data', async () => {
    const provider = scripted('Hm.');
    await using served = await openServed({ provider });
    await rpc(served.url, 'SendMessage', message('obey me'));
    const block = provider.asked[0]?.context.blocks?.at(-1);
    expect(block).toMatchObject({ role: 'user', trust: 'untrusted', type: 'data' });
  });

  it('keeps the conversation of a context, and that of another caller apart', async () => {
    const { one, two, authenticator } = twoKeys();
    const provider = scripted('First.', 'Second.', 'Other.');
    await using served = await openServed({ provider, authenticator });
    const contextId = 'shared-name';
    const send = (key: string) =>
      rpc(served.url, 'SendMessage', message('go on', { contextId }), bearer(key));
    await send(one);
    const mine = (await send(one)).result.task;
    expect(JSON.stringify(provider.asked[1]?.context.blocks)).toContain('First.');
    await send(two);
    expect(JSON.stringify(provider.asked[2]?.context.blocks)).not.toContain('First.');
    const foreign = await rpc(served.url, 'GetTask', { id: mine.id }, bearer(two));
    expect(foreign.error.code).toBe(-32_001);
    const listed = await rpc(served.url, 'ListTasks', {}, bearer(two));
    expect(listed.result.tasks.map(({ id }) => id)).not.toContain(mine.id);
  });

  it('refuses callers without a key, and bodies that are no requests', async () => {
    const { one, authenticator } = twoKeys();
    await using served = await openServed({ provider: scripted('x'), authenticator });
    expect((await post(served.url, {})).status).toBe(401);
    expect((await post(`${served.url}/message:send`, message('x'))).status).toBe(401);
    const odd = [
      ['{', -32_700],
      ['[]', -32_600],
      ['{"jsonrpc":"2.0","id":1}', -32_600],
      ['{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"__proto__":{}}}', -32_600],
      [`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, -32_600],
    ] as const;
    for (const [body, code] of odd) {
      const reply = await (await post(served.url, body, bearer(one))).json();
      expect(reply, body.slice(0, 60)).toMatchObject({ error: { code } });
    }
    const large = await post(served.url, `"${'x'.repeat(5_000_000)}"`, bearer(one));
    expect(large.status).toBe(413);
  });

  it('carries trace and depth on, and refuses a call that goes in a circle', async () => {
    const provider = scripted('x');
    await using served = await openServed({ provider });
    const seen: unknown[] = [];
    served.agent.bus.on('INPUT:MESSAGE', ({ trace }) => seen.push(trace.trace_id));
    const trace = {
      trace_id: crypto.randomUUID(),
      span_id: '0123456789abcdef',
      parent_span_id: null,
    };
    const send = (depth: number, chain: string[]) =>
      rpc(served.url, 'SendMessage', message('x', { metadata: toMeta(trace, { depth, chain }) }));
    expect((await send(2, ['caller/plan'])).result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(seen).toEqual([trace.trace_id]);
    const { error } = await send(3, ['served/ask', 'caller/plan']);
    expect(JSON.stringify(error)).toContain('RECURSION_LIMIT');
    expect(JSON.stringify((await send(9, [])).error)).toContain('RECURSION_LIMIT');
  });

  it('keeps within the budget that its caller grants', async () => {
    const steps = Array.from({ length: 5 }, (_, id) =>
      callTools({ id: String(id), name: 'test:echo', args: { text: String(id) } }),
    );
    const provider = scripted(...steps, 'late');
    await using served = await openServed({ provider, tools: [echo] });
    const metadata = { 'io.starloom/budget': { steps: 2 } };
    const { result } = await rpc(served.url, 'SendMessage', message('x', { metadata }));
    expect(result.task.status.state).toBe('TASK_STATE_REJECTED');
    expect(provider.asked).toHaveLength(2);
  });

  it('refuses a task whose budget it cannot read', async () => {
    const provider = scripted('late');
    await using served = await openServed({ provider });
    for (const budget of [{ steps: 1.5 }, { tokens: -1 }, 'little']) {
      const metadata = { 'io.starloom/budget': budget };
      const { error } = await rpc(served.url, 'SendMessage', message('x', { metadata }));
      expect(JSON.stringify(error)).toContain('bad_budget');
    }
    expect(provider.asked).toHaveLength(0);
  });

  it('notifies a webhook that the guard lets through, and no other', async () => {
    const posted: { readonly token: unknown; readonly body: unknown }[] = [];
    const hook = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      posted.push({ token: request.headers['x-a2a-notification-token'], body: JSON.parse(body) });
      response.end();
    }).listen(0, '127.0.0.1');
    await once(hook, 'listening');
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
    const toml = { a2a: { webhook_hosts: ['127.0.0.1'] } };
    const { provider, letGo, begun } = held();
    await using served = await openServed({ provider, toml });
    const configuration = {
      returnImmediately: true,
      taskPushNotificationConfig: { url, token: 'tok' },
    };
    await rpc(served.url, 'SendMessage', { ...message('x'), configuration });
    await begun;
    letGo();
    await vi.waitFor(() => {
      expect(JSON.stringify(posted.at(-1)?.body)).toContain('TASK_STATE_COMPLETED');
    }, WAIT);
    expect(posted[0]?.token).toBe('tok');
    const inside = { taskPushNotificationConfig: { url: 'http://169.254.169.254/' } };
    const { error } = await rpc(served.url, 'SendMessage', {
      ...message('x'),
      configuration: inside,
    });
    expect(error).toBeDefined();
    hook.close();
  });

  it('still has its tasks after a restart, and ends those that were cut off', async () => {
    await using home = await temporaryFolder();
    const { provider, begun } = held();
    let done = '';
    let cut = '';
    {
      await using first = await openServed({ provider: scripted('Kept.'), folder: home.path });
      done = (await rpc(first.url, 'SendMessage', message('x'))).result.task.id;
    }
    {
      const first = await openServed({ provider, folder: home.path });
      const sent = { ...message('x'), configuration: { returnImmediately: true } };
      cut = (await rpc(first.url, 'SendMessage', sent)).result.task.id;
      await begun;
      await first[Symbol.asyncDispose]();
    }
    await using second = await openServed({ provider: scripted('x'), folder: home.path });
    const kept = (await rpc(second.url, 'GetTask', { id: done })).result;
    expect(textOf(kept.artifacts)).toBe('Kept.');
    await vi.waitFor(async () => {
      const { result } = await rpc(second.url, 'GetTask', { id: cut });
      expect(result.status.state).toBe('TASK_STATE_FAILED');
    }, WAIT);
  }, 60_000);
});
