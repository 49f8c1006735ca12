// The clauses of the official A2A suite on the bindings, and on what it leaves out: versions, and that
// the bindings are the same.

import { describe, expect, it } from 'vitest';
import { answers, fails, openTestGateway } from '../test-gateway.ts';
import { type Answered, errorOf, eventsOf, request, rpc, toMessage } from './raw.ts';

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const agent = { percy: { run: answers('42') } };
const at = ({ url }: { url: string }) => `${url}/a2a/percy`;

describe('A2A on the wire', () => {
  it('JSONRPC-FMT-001, 002, SVC-001, DM-SERIAL-001 to 004: one JSON-RPC response in ProtoJSON', async () => {
    await using gateway = await openTestGateway(agent);
    const { status, headers, body } = await rpc(at(gateway), 'SendMessage', toMessage('x'));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 7 });
    const { task } = body.result;
    expect(task.status).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
    expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(JSON.stringify(task)).not.toMatch(/"[a-z]+_[a-z_]+":/);
    const slashed = await rpc(`${at(gateway)}/`, 'SendMessage', toMessage('x'));
    expect(slashed.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it.each([
    ['not JSON', '{', -32700, 400],
    ['nothing', '', -32700, 400],
    ['not JSON-RPC', '{"id":1}', -32600, 200],
    ['a batch', '[]', -32600, 200],
    ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}', -32600, 400],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}', -32601, 200],
    [
      'a method of 0.3',
      '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}',
      -32601,
      200,
    ],
    ['no parameters', '{"jsonrpc":"2.0","id":1,"method":"SendMessage"}', -32602, 200],
    ['no message', '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}', -32602, 200],
  ])(
    'CORE-ERR-002, JSONRPC-ERR-001: %s is refused with its code',
    async (_, body, code, status) => {
      await using gateway = await openTestGateway(agent);
      const answer = await request(at(gateway), 'POST', body);
      expect(answer.status).toBe(status);
      expect(answer.body.error).toMatchObject({ code, message: expect.any(String) });
    },
  );

  it('JSONRPC-ERR-002, 003, SSE-002, HTTP_JSON-ERR-001, 002, STATUS-001: errors are A2A errors, ours beside', async () => {
    await using gateway = await openTestGateway(agent);
    const { body: sent } = await rpc(at(gateway), 'SendMessage', toMessage('x'));
    const { id } = sent.result.task;
    const json = { 'content-type': 'application/json' };
    const cases: [string, Promise<Answered>, number | undefined, number][] = [
      ['TASK_NOT_FOUND', rpc(at(gateway), 'GetTask', { id: 'x' }), -32001, 200],
      ['TASK_NOT_FOUND', request(`${at(gateway)}/tasks/x`, 'GET'), undefined, 404],
      ['TASK_NOT_CANCELABLE', rpc(at(gateway), 'CancelTask', { id }), -32002, 200],
      ['TASK_NOT_CANCELABLE', request(`${at(gateway)}/tasks/${id}:cancel`, 'POST'), undefined, 400],
      ['UNSUPPORTED_OPERATION', rpc(at(gateway), 'SubscribeToTask', { id }), -32004, 200],
      [
        'UNSUPPORTED_OPERATION',
        request(`${at(gateway)}/tasks/${id}:subscribe`, 'GET'),
        undefined,
        400,
      ],
      ['INVALID_PARAMS', request(`${at(gateway)}/message:send`, 'POST', {}), undefined, 400],
      [
        'CONTENT_TYPE_NOT_SUPPORTED',
        request(at(gateway), 'POST', 'x', { headers: { 'content-type': 'text/plain' } }),
        -32005,
        400,
      ],
      [
        'CONTENT_TYPE_NOT_SUPPORTED',
        request(`${at(gateway)}/message:send`, 'POST', 'x', {
          headers: { ...json, 'content-type': 'text/plain' },
        }),
        undefined,
        400,
      ],
    ];
    for (const [reason, asked, code, status] of cases) {
      const answer = await asked;
      const error = errorOf(answer);
      expect(answer.status, reason).toBe(status);
      expect(error.code, reason).toBe(code ?? status);
      expect(error.details[0]).toMatchObject({
        '@type': ERROR_INFO,
        reason,
        domain: 'a2a-protocol.org',
      });
      expect(error.details[1].value).toMatchObject({
        ok: false,
        error: { code: expect.any(String) },
      });
    }
  });

  it('says in a failed task what failed, and of which call', async () => {
    await using gateway = await openTestGateway({ percy: { run: fails(new Error('secret')) } });
    const { body } = await rpc(at(gateway), 'SendMessage', toMessage('x'));
    const { status } = body.result.task;
    expect(status.state).toBe('TASK_STATE_FAILED');
    expect(status.message.metadata['io.starloom/error']).toMatchObject({
      code: expect.any(String),
    });
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('JSONRPC-SSE-001, HTTP_JSON-SSE-001: streams are events, wrapped by JSON-RPC and bare by REST', async () => {
    await using gateway = await openTestGateway(agent);
    const streamed = await rpc(at(gateway), 'SendStreamingMessage', toMessage('x'));
    expect(streamed.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const wrapped = eventsOf(streamed.body);
    expect(wrapped.every(({ jsonrpc, id }) => jsonrpc === '2.0' && id === 7)).toBe(true);
    const bare = await request(`${at(gateway)}/message:stream`, 'POST', toMessage('x'));
    expect(bare.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const kinds = (items: object[]) => items.map((item) => Object.keys(item)[0]);
    expect(kinds(eventsOf(bare.body))).toEqual(kinds(wrapped.map(({ result }) => result)));
  });

  it('HTTP_JSON-URL-001, 002, QP-001: resources have paths, and paths have methods', async () => {
    await using gateway = await openTestGateway(agent);
    const sent = await request(`${at(gateway)}/message:send`, 'POST', toMessage('x'));
    expect(sent.headers.get('content-type')).toBe('application/a2a+json');
    const { id } = sent.body.task;
    const found = await request(`${at(gateway)}/tasks/${id}?historyLength=0`, 'GET');
    expect(found.body).toMatchObject({ id });
    expect(found.body.history).toBeUndefined();
    const listed = await request(`${at(gateway)}/tasks?pageSize=1&includeArtifacts=true`, 'GET');
    expect(listed.body).toMatchObject({ pageSize: 1, totalSize: 1, nextPageToken: '' });
    expect(listed.body.tasks[0].artifacts).toHaveLength(1);
    const without = await request(`${at(gateway)}/tasks?includeArtifacts=false`, 'GET');
    expect(without.body.tasks[0]).not.toHaveProperty('artifacts');
    expect((await request(`${at(gateway)}/tasks?status=TASK_STATE_RUNNING`, 'GET')).status).toBe(
      400,
    );
    expect((await request(`${at(gateway)}/nothing`, 'GET')).status).toBe(404);
    const wrong = await request(`${at(gateway)}/tasks/${id}`, 'DELETE');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET']);
    expect(wrong.body.error).toMatchObject({ code: 405, status: 'INVALID_ARGUMENT' });
    expect((await request(at(gateway), 'GET')).status).toBe(405);
    const typed = { headers: { 'content-type': 'application/a2a+json' } };
    const again = await request(`${at(gateway)}/message:send`, 'POST', toMessage('x'), typed);
    expect(again.status).toBe(200);
  });

  it.each(['', '/message:send'])(
    'VER-SERVER-002: a version that is not served is refused at "%s"',
    async (path) => {
      await using gateway = await openTestGateway(agent);
      const body = path === '' ? { jsonrpc: '2.0', id: 1, method: 'SendMessage' } : {};
      const answer = await request(`${at(gateway)}${path}`, 'POST', body, { version: '99.0' });
      expect(answer.status).toBe(400);
      expect(errorOf(answer).details[0].reason).toBe('VERSION_NOT_SUPPORTED');
      if (path === '') expect(answer.body.error.code).toBe(-32009);
    },
  );

  it('VER-SERVER-001, 003, VER-CLIENT-001: the version decides what methods and answers are', async () => {
    await using gateway = await openTestGateway(agent);
    const legacy = {
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        parts: [{ kind: 'text', text: 'x' }],
      },
    };
    const older = await rpc(at(gateway), 'message/send', legacy, { version: '' });
    expect(older.body.result).toMatchObject({ kind: 'task', status: { state: 'completed' } });
    const mixed = await rpc(at(gateway), 'SendMessage', toMessage('x'), { version: '' });
    expect(mixed.body.error.code).toBe(-32601);
    const asParameter = await rpc(`${at(gateway)}?A2A-Version=1.0`, 'SendMessage', toMessage('x'), {
      version: '',
    });
    expect(asParameter.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    await using only = await openTestGateway(agent, { config: { a2a: { versions: ['1.0'] } } });
    const refused = await rpc(at(only), 'message/send', legacy, { version: '' });
    expect(refused.body.error.code).toBe(-32009);
  });

  it('does not serve the REST paths of 0.3', async () => {
    await using gateway = await openTestGateway(agent);
    for (const [path, method] of [
      ['/v1/card', 'GET'],
      ['/v1/message:send', 'POST'],
    ] as const) {
      const answer = await request(`${at(gateway)}${path}`, method, undefined, { version: '' });
      expect(answer.status).toBe(404);
      expect(answer.body.error).toMatchObject({ code: 404, status: 'NOT_FOUND' });
    }
  });

  it('has agents of any name, and nothing at the root of all', async () => {
    await using gateway = await openTestGateway({
      tasks: { run: answers('1') },
      v1: { run: answers('2') },
    });
    for (const [agent, text] of [
      ['tasks', '1'],
      ['v1', '2'],
    ]) {
      const { body } = await request(
        `${gateway.url}/a2a/${agent}/message:send`,
        'POST',
        toMessage('x'),
      );
      expect(body.task.artifacts[0].parts[0].text).toBe(text);
    }
    expect((await rpc(`${gateway.url}/a2a`, 'ListTasks', {})).status).toBe(404);
    expect((await request(`${gateway.url}/a2a/`, 'GET')).status).toBe(404);
  });

  it('VER-CLIENT-002: a patch of a version is the version', async () => {
    await using gateway = await openTestGateway(agent);
    const patched = await rpc(at(gateway), 'SendMessage', toMessage('x'), { version: '1.0.1' });
    expect(patched.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('BIND-EQUIV-001 to 003: what one binding began, the other goes on with, in the same words', async () => {
    await using gateway = await openTestGateway(agent);
    const { body } = await request(`${at(gateway)}/message:send`, 'POST', toMessage('x'));
    const { id } = body.task;
    const byRpc = (await rpc(at(gateway), 'GetTask', { id })).body.result;
    const byRest = (await request(`${at(gateway)}/tasks/${id}`, 'GET')).body;
    expect(byRpc).toEqual(byRest);
    expect(byRest).toEqual(body.task);
    const listed = (await rpc(at(gateway), 'ListTasks', {})).body.result;
    expect((await request(`${at(gateway)}/tasks`, 'GET')).body).toEqual(listed);
    const [first, second] = [
      errorOf(await rpc(at(gateway), 'GetTask', { id: 'x' })),
      errorOf(await request(`${at(gateway)}/tasks/x`, 'GET')),
    ];
    expect(first.message).toBe(second.message);
    expect(first.details[0].reason).toBe(second.details[0].reason);
  });
});
