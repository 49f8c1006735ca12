// Who may do what over A2A: the clauses on authentication and authorisation, none of which the official
// suite tests.

import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { answers, KEY, openTestGateway, STRANGER_KEY, type TestAgent } from '../test-gateway.ts';
import { collect, connectA2a, getTask, message, send } from './a2a-client.ts';
import { errorOf, request, rpc, toMessage } from './raw.ts';

const LIMITED_KEY = 'limited-key-0123456789abc';
const agents = { percy: { run: answers('42') }, quinn: { run: answers('43') } };
const psk = createPskVerifier([
  { key_id: 'a', key: LIMITED_KEY, principal: 'limited', tier: 'org', scopes: ['agent:percy'] },
]);

const paths = ['', '/', '/message:send', '/tasks/x', '/.well-known/agent-card.json'];

describe('A2A callers', () => {
  it.each(paths)(
    'AUTH-SERVER-002, CARD-EXT-001: need a key at "%s", before anything is read',
    async (path) => {
      await using gateway = await openTestGateway(agents);
      const url = `${gateway.url}/a2a/percy${path}`;
      for (const method of ['GET', 'POST']) {
        const body = method === 'POST' ? '{not json' : undefined;
        const answer = await request(url, method, body, { key: '' });
        expect(answer.status).toBe(401);
        expect(answer.headers.get('www-authenticate')).toContain('Bearer');
        const text = JSON.stringify(answer.body);
        expect(text).toContain('AUTH_DENIED');
        expect(text).not.toContain('-32001');
      }
      const unknown = await request(`${gateway.url}/a2a/nobody${path}`, 'POST', '{', {
        key: 'wrong',
      });
      expect(unknown.status).toBe(401);
    },
  );

  it('see the tasks of agents that their key may use, of all that their principal has', async () => {
    const owner = { principal: 'owner', tier: 'org' } as const;
    const keys = createPskVerifier([
      { ...owner, key_id: 'all', key: KEY, scopes: ['*'] },
      { ...owner, key_id: 'limited', key: LIMITED_KEY, scopes: ['agent:percy'] },
    ]);
    await using gateway = await openTestGateway(agents, { psk: keys });
    const start = async (agent: string) => {
      const url = `${gateway.url}/a2a/${agent}/message:send`;
      return (await request(url, 'POST', toMessage('x'))).body.task.id as string;
    };
    const [shown, hidden] = [await start('percy'), await start('quinn')];
    const ask = (path: string, key: string) =>
      request(`${gateway.url}/a2a/fabric/tasks${path}`, 'GET', undefined, { key });
    const listed = async (key: string) =>
      (await ask('', key)).body.tasks.map(({ id }: { id: string }) => id).toSorted();
    expect(await listed(KEY)).toEqual([shown, hidden].toSorted());
    expect(await listed(LIMITED_KEY)).toEqual([shown]);
    expect((await ask(`/${hidden}`, LIMITED_KEY)).status).toBe(404);
    expect((await ask(`/${shown}`, LIMITED_KEY)).status).toBe(200);
  });

  it('AUTH-SCOPE-003: an agent that they may not use is answered like one that is not there', async () => {
    await using gateway = await openTestGateway(agents, { psk });
    const ask = async (agent: string, path: string, method = 'GET', body?: unknown) => {
      const url = `${gateway.url}/a2a/${agent}${path}`;
      const answer = await request(url, method, body, { key: LIMITED_KEY });
      const text = JSON.stringify(answer.body);
      return { status: answer.status, text: normalised(text, agent) };
    };
    const send = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: toMessage('x') };
    for (const [path, method, body] of [
      ['/.well-known/agent-card.json', 'GET'],
      ['', 'POST', send],
      ['/message:send', 'POST', toMessage('x')],
      ['/tasks/x', 'GET'],
    ] as const) {
      const hidden = await ask('quinn', path, method, body);
      expect(hidden).toEqual(await ask('nobody', path, method, body));
      expect(hidden.status).toBe(404);
    }
    expect((await ask('percy', '', 'POST', send)).status).toBe(200);
    const own = await request(`${gateway.url}/.well-known/agent-card.json`, 'GET', undefined, {
      key: LIMITED_KEY,
    });
    expect(own.body.skills.map(({ id }: { id: string }) => id)).toEqual(['percy.work']);
  });

  it('reach only agents that are exposed', async () => {
    const config = { mcp: { expose: ['quinn'] } };
    await using gateway = await openTestGateway(agents, { config });
    expect((await rpc(`${gateway.url}/a2a/percy`, 'GetTask', { id: 'x' })).status).toBe(404);
    expect((await rpc(`${gateway.url}/a2a/quinn`, 'GetTask', { id: 'x' })).status).toBe(200);
  });

  it('AUTH-SCOPE-001, 002, CORE-LIST-001: see their own tasks, at the agent that has them', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await connectA2a(gateway.url);
    const { id } = await send(client, message('x'));
    const url = `${gateway.url}/a2a/percy`;
    const asked = { key: STRANGER_KEY };
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      const foreign = errorOf(await rpc(url, method, { id }, asked));
      const unknown = errorOf(await rpc(url, method, { id: crypto.randomUUID() }, asked));
      expect(foreign.code).toBe(-32001);
      expect(foreign.message).toBe(unknown.message);
    }
    const more = toMessage('x', { taskId: id });
    expect(errorOf(await rpc(url, 'SendMessage', more, asked)).code).toBe(-32001);
    const hook = { taskId: id, url: 'https://example.com/' };
    const hooked = await rpc(url, 'CreateTaskPushNotificationConfig', hook, asked);
    expect(errorOf(hooked).code).toBe(-32001);
    expect((await rpc(url, 'ListTasks', {}, asked)).body.result.tasks).toEqual([]);
    const elsewhere = await rpc(`${gateway.url}/a2a/quinn`, 'GetTask', { id });
    expect(errorOf(elsewhere).code).toBe(-32001);
    const whole = await rpc(`${gateway.url}/a2a/fabric`, 'GetTask', { id });
    expect(whole.body.result.id).toBe(id);
  });

  it('BIND-EQUIV-004, AUTH-TLS-001: cards declare one scheme for all bindings, and TLS where it is', async () => {
    const config = { a2a: { public_url: 'https://agents.example.com/' } };
    await using gateway = await openTestGateway(agents, { config });
    const { body } = await request(`${gateway.url}/a2a/percy/.well-known/agent-card.json`, 'GET');
    expect(body.securitySchemes).toMatchObject({
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    });
    expect(body.securityRequirements).toMatchObject([{ schemes: { bearer: {} } }]);
    const bindings = body.supportedInterfaces.map(
      (one: { protocolBinding: string }) => one.protocolBinding,
    );
    expect(new Set(bindings)).toEqual(new Set(['JSONRPC', 'HTTP+JSON']));
    for (const { url } of body.supportedInterfaces) {
      expect(url).toBe('https://agents.example.com/a2a/percy');
    }
  });

  it('AUTH-INTASK-001 to 004: an agent that needs authorisation says so in its task, and goes on after it', async () => {
    const link = 'https://login.example.com/';
    const run: TestAgent['run'] = async function* (_envelope, _signal, { ask, responses }) {
      const request = { id: 'login', kind: 'auth', message: 'Sign in', url: link } as const;
      const [given] = responses ?? (await ask?.([request])) ?? [];
      yield {
        type: 'final',
        data: { answer: `${given?.action} ${JSON.stringify(given?.content)}` },
      };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const client = await connectA2a(gateway.url);
    const asked = await send(client, message('x'));
    expect(asked.status.state).toBe('TASK_STATE_AUTH_REQUIRED');
    expect(asked.status.message.parts[0].text).toContain('Sign in');
    expect(asked.status.message.parts[0].text).toContain(link);
    const following = collect(client.resubscribeTask({ tenant: '', id: asked.id }));
    const task = await send(client, message('signed in', { taskId: asked.id }));
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts[0].parts[0].text).toBe('accept undefined');
    expect((await following).at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
    const streaming = client.sendMessageStream(message('x'));
    const items: string[] = [];
    for await (const { payload } of streaming) {
      if (payload?.$case !== 'statusUpdate') continue;
      const { taskId, status } = payload.value;
      items.push(String(status?.state));
      const isAsked = status?.state === 8;
      if (isAsked) await client.sendMessage(message('signed in', { taskId }));
    }
    expect(items.at(-1)).toBe('3');
  });

  it('are refused in the words of A2A when a request is too large, or the gateway shuts down', async () => {
    await using gateway = await openTestGateway(agents, {
      config: { limits: { body_bytes: 1000 } },
    });
    const large = toMessage('x'.repeat(2000));
    const byRpc = await rpc(`${gateway.url}/a2a/percy`, 'SendMessage', large);
    expect([byRpc.status, byRpc.body.error.code]).toEqual([413, -32600]);
    const byRest = await request(`${gateway.url}/a2a/percy/message:send`, 'POST', large);
    expect(byRest.body.error).toMatchObject({ code: 413, status: 'INVALID_ARGUMENT' });
  });

  it('get the answer to what was accepted while the gateway shuts down', async () => {
    const gate = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* () {
      yield { type: 'token', data: { text: 'a' } };
      await gate.promise;
      yield { type: 'final', data: { answer: 'ab' } };
    };
    const gateway = await openTestGateway({ percy: { run } });
    const client = await connectA2a(gateway.url);
    const stream = client.sendMessageStream(message('x'));
    const { value } = await stream.next();
    const id = value?.payload?.$case === 'task' ? value.payload.value.id : '';
    await expect
      .poll(async () => (await getTask(client, id)).status.state)
      .toBe('TASK_STATE_WORKING');
    const closing = gateway[Symbol.asyncDispose]();
    const refused = await rpc(`${gateway.url}/a2a/percy`, 'GetTask', { id });
    expect(refused.status).toBe(503);
    gate.resolve();
    const items = await collect(stream);
    expect(items.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
    await closing;
  });
});

/** The path names the agent that was asked for, and every answer has a trace of its own. */
function normalised(text: string, agent: string): string {
  return text.replaceAll(agent, 'AGENT').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
}
