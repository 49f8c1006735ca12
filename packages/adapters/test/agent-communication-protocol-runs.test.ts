import { type AgentHandle, type CallContext, FabricError, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { abortWhen, eventually, runCall } from './fixtures/agent-world.ts';
import { openRunAdapter, openRuns } from './fixtures/open-runs.ts';
import { type RunAgent, type SeenPart, startRunServer } from './fixtures/run-server.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const text = (content: string): SeenPart => ({ content_type: 'text/plain', content });

function call(adapter: ReturnType<typeof openRunAdapter>, more: Partial<CallContext> = {}) {
  return Array.fromAsync(adapter.call(exampleEnvelope('hi'), { ...CONTEXT, ...more }));
}

/** An agent that says one word, and the other when it may. */
function gated() {
  const gate = Promise.withResolvers<void>();
  const agent: RunAgent = async ({ part, signal }) => {
    part(text('one '));
    signal.addEventListener('abort', () => gate.resolve());
    await gate.promise;
    part(text('two'));
  };
  return { agent, go: () => gate.resolve() };
}

describe('what a run is sent', () => {
  it('is a message with the task, other arguments and the attachments, to the agent by its name there', async () => {
    const seen = Promise.withResolvers<readonly SeenPart[]>();
    const server = await startRunServer({
      'other-name': async ({ input, part }) => {
        seen.resolve(input[0]?.parts ?? []);
        part(text('done'));
      },
    });
    const capabilities = [{ name: 'work', tool: 'other-name' }];
    const adapter = openRunAdapter(server.uri, { change: { capabilities } });
    onTestFinished(async () => {
      await adapter.close();
      await server.stop();
    });
    const input = {
      task: 'read this',
      arguments: { task: 'read this', depth: 2 },
      attachments: [
        { media_type: 'text/plain', text: 'words', name: 'a.txt' },
        { media_type: 'image/png', data: 'aGk=' },
        { media_type: 'text/html', uri: 'https://example.org/' },
      ],
    };
    const events = await Array.fromAsync(adapter.call(exampleEnvelope('', { input }), CONTEXT));
    expect(events.at(-1)).toMatchObject({ data: { answer: 'done' } });
    expect(await seen.promise).toEqual([
      { content_type: 'text/plain', content: 'read this' },
      { content_type: 'application/json', content: '{"depth":2}' },
      { content_type: 'text/plain', content: 'words', name: 'a.txt' },
      { content_type: 'image/png', content: 'aGk=', content_encoding: 'base64' },
      { content_type: 'text/html', content_url: 'https://example.org/' },
    ]);
  });

  it('is refused as CAPABILITY_NOT_FOUND when the server has no such agent', async () => {
    const { adapter } = await openRuns(async () => {}, {
      change: { capabilities: [{ name: 'work', tool: 'gone' }] },
    });
    expect((await runCall(adapter)).error).toMatchObject({ code: 'CAPABILITY_NOT_FOUND' });
  });
});

describe('a run whose stream breaks', () => {
  it('goes on by polling, and nothing is said twice', async () => {
    const { agent, go } = gated();
    const { adapter, server } = await openRuns(agent);
    const texts: string[] = [];
    let answer = '';
    for await (const { type, data } of adapter.call(exampleEnvelope('hi'), CONTEXT)) {
      if (type === 'token') texts.push(data.text);
      if (type === 'final') answer = data.answer;
      if (texts.length === 1) {
        server.breakConnections();
        go();
      }
    }
    expect(texts).toEqual(['one ', 'two']);
    expect(answer).toBe('one two');
    expect(server.requests.filter((request) => request === 'POST /runs')).toHaveLength(1);
    expect(server.requests.some((request) => request.endsWith('/events'))).toBe(true);
  });

  it('goes on where the server does not offer its events', async () => {
    const { agent, go } = gated();
    const { adapter, server } = await openRuns(agent, {
      instead: ({ url }, response) => {
        if (!url?.endsWith('/events')) return false;
        response.writeHead(405).end();
        return true;
      },
    });
    const events = [];
    for await (const event of adapter.call(exampleEnvelope('hi'), CONTEXT)) {
      events.push(event);
      if (events.length > 1) continue;
      server.breakConnections();
      go();
    }
    expect(events.at(-1)).toMatchObject({ type: 'final', data: { answer: 'one two' } });
  });

  it('is UPSTREAM_ERROR when the server has forgotten it', async () => {
    const { agent } = gated();
    const { adapter, server } = await openRuns(agent, {
      instead: ({ method, url }, response) => {
        if (method !== 'GET' || !url?.startsWith('/runs/')) return false;
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":"not_found"}');
        return true;
      },
    });
    const outcome = (async () => {
      for await (const _ of adapter.call(exampleEnvelope('hi'), CONTEXT)) server.breakConnections();
    })();
    await expect(outcome).rejects.toMatchObject({ details: { reason: 'unknown_run' } });
  });

  it('is AGENT_OFFLINE when the server is gone, and counts as sent', async () => {
    const { agent } = gated();
    const { adapter, server } = await openRuns(agent);
    const outcome = (async () => {
      for await (const _ of adapter.call(exampleEnvelope('hi'), CONTEXT)) await server.stop();
    })();
    const error = await outcome.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'AGENT_OFFLINE' });
    expect((error as FabricError).details).not.toHaveProperty('sent');
  });
});

it('cancels a run whose call was left before the run had an id', async () => {
  const head = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const { adapter, server } = await openRuns(async () => {}, {
    instead: ({ method, url }, response) => {
      if (method !== 'POST' || url !== '/runs') return false;
      asked.resolve();
      void head.promise.then(() => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'run-id': 'late-run' });
        response.write(': wait\n\n');
      });
      return true;
    },
  });
  const { error } = await runCall(adapter, 'hang', abortWhen(asked.promise));
  expect(error?.code).toBe('TIMEOUT');
  head.resolve();
  await expect
    .poll(() => server.requests.includes('POST /runs/late-run/cancel'), eventually)
    .toBe(true);
});

describe('the handle of a run', () => {
  it('is kept as soon as the run is known, and in the end is the session', async () => {
    const kept: AgentHandle[] = [];
    const { agent, go } = gated();
    const { adapter } = await openRuns(agent);
    for await (const { type } of adapter.call(exampleEnvelope('hi'), {
      ...CONTEXT,
      keep: (handle) => kept.push(handle),
    })) {
      if (type === 'final') continue;
      expect(kept.at(-1)).toMatchObject({ run_id: expect.any(String) });
      go();
    }
    expect(kept.at(-1)).toEqual({ session_id: expect.any(String) });
  });

  it('joins a run that still goes on: it is not made again', async () => {
    const { agent, go } = gated();
    const { adapter, server } = await openRuns(agent, { options: { mode: 'async' } });
    let handle: AgentHandle | undefined;
    const first = new AbortController();
    const keep = (known: AgentHandle) => {
      handle ??= known;
    };
    // As a gateway that is killed leaves it: the run is known, and it is not cancelled.
    const lost = openRunAdapter(server.uri);
    const calls = lost.call(exampleEnvelope('hi'), { ...CONTEXT, signal: first.signal, keep });
    await calls[Symbol.asyncIterator]().next();
    await lost.close();
    const events = [];
    const joined = { ...CONTEXT, ...(handle && { handle }) };
    for await (const event of adapter.call(exampleEnvelope('hi'), joined)) {
      events.push(event);
      go();
    }
    expect(events.map(({ type }) => type)).toEqual(['token', 'token', 'final']);
    expect(events.at(-1)).toMatchObject({ data: { answer: 'one two' } });
    expect(server.requests.filter((request) => request === 'POST /runs')).toHaveLength(1);
  });

  it('brings the result of a run that is over, and its artifacts', async () => {
    const { adapter, server } = await openRuns(async ({ part }) => {
      part({ name: 'a.txt', content_type: 'text/plain', content: 'kept' });
      part(text('done'));
    });
    await runCall(adapter);
    const [run_id = ''] = server.runs.keys();
    const events = await call(adapter, { handle: { run_id } });
    expect(events).toMatchObject([
      { type: 'artifact', data: { name: 'a.txt', text: 'kept' } },
      { type: 'final', data: { answer: 'done' } },
    ]);
    expect(server.runs.size).toBe(1);
  });

  it.each([{ run_id: '../../agents' }, { run_id: 7 }, {}])('%o makes a new run', async (handle) => {
    const { adapter, server } = await openRuns(async ({ part }) => part(text('new')));
    expect((await call(adapter, { handle })).at(-1)).toMatchObject({ data: { answer: 'new' } });
    expect(server.runs.size).toBe(1);
  });

  it('continues the session', async () => {
    const { adapter } = await openRuns(async ({ turn, part }) => part(text(String(turn))));
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    const answers = [];
    for (let round = 0; round < 3; round += 1) {
      const events = await call(adapter, { handle, keep });
      answers.push(events.at(-1)?.data);
    }
    expect(answers).toMatchObject([{ answer: '0' }, { answer: '1' }, { answer: '2' }]);
  });
});

describe('a run that awaits', () => {
  const asking: RunAgent = async ({ ask, part }) => {
    const [answer] = await ask([text('Your name?')]);
    part(text(`hello ${answer?.content}`));
  };
  const answered = (name: string) => [
    { id: 'await-1', action: 'accept' as const, content: { text: name } },
  ];

  async function awaiting(instead?: Parameters<typeof openRuns>[1]) {
    const world = await openRuns(asking, instead);
    let handle: AgentHandle = {};
    const ask: CallContext['ask'] = async (_, options) => {
      handle = options?.handle ?? {};
      throw new FabricError('INPUT_REQUIRED', 'Later');
    };
    await call(world.adapter, { ask }).catch(() => {});
    return { ...world, handle };
  }

  it('is answered in words', async () => {
    const { adapter, handle } = await awaiting();
    const events = await call(adapter, { handle, responses: answered('Ada') });
    expect(events.at(-1)).toMatchObject({ data: { answer: 'hello Ada' } });
  });

  it('is not cancelled while it waits, and asks again when it is joined without an answer', async () => {
    const { adapter, server, handle } = await awaiting();
    const ids: string[] = [];
    const ask: CallContext['ask'] = async (requests) => {
      ids.push(...requests.map(({ id }) => id));
      throw new FabricError('INPUT_REQUIRED', 'Later');
    };
    await expect(call(adapter, { handle, ask })).rejects.toMatchObject({ code: 'INPUT_REQUIRED' });
    expect(ids).toEqual(['await-1']);
    expect(server.requests.some((request) => request.endsWith('/cancel'))).toBe(false);
  });

  it('is cancelled when the caller leaves the question open', async () => {
    const { adapter, server } = await openRuns(asking);
    const ask: CallContext['ask'] = async () => {
      throw new FabricError('CANCELLED', 'Never mind');
    };
    await expect(call(adapter, { ask })).rejects.toMatchObject({ code: 'CANCELLED' });
    const cancelled = () => server.requests.filter((request) => request.endsWith('/cancel')).length;
    await expect.poll(cancelled, eventually).toBe(1);
  });

  it('is not resumed twice: the second answer finds what the first led to', async () => {
    const { adapter, server, handle } = await awaiting();
    await call(adapter, { handle, responses: answered('Ada') });
    const again = await call(adapter, { handle, responses: answered('Bob') });
    expect(again.at(-1)).toMatchObject({ data: { answer: 'hello Ada' } });
    const [id] = server.runs.keys();
    expect(server.requests.filter((request) => request === `POST /runs/${id}`)).toHaveLength(1);
  });

  it.each([
    [403, '{"code":"server_error","message":"has no await request"}', 'not_awaiting'],
    [403, 'Forbidden', 'agent_denied'],
  ])('refuses an answer with %i %s', async (status, body, reason) => {
    const { adapter, handle } = await awaiting({
      instead: ({ method, url }, response) => {
        if (method !== 'POST' || !/^\/runs\/[^/]+$/.test(url ?? '')) return false;
        response.writeHead(status).end(body);
        return true;
      },
    });
    const resumed = call(adapter, { handle, responses: answered('Ada') });
    await expect(resumed).rejects.toMatchObject({ details: { reason } });
  });

  it('is not sent an answer again that was lost on its way', async () => {
    let resumes = 0;
    const { adapter, handle } = await awaiting({
      instead: ({ method, url }, response) => {
        if (method !== 'POST' || !/^\/runs\/[^/]+$/.test(url ?? '')) return false;
        resumes += 1;
        response.destroy();
        return true;
      },
    });
    const resumed = call(adapter, { handle, responses: answered('Ada') });
    await expect(resumed).rejects.toMatchObject({ details: { reason: 'answer_lost' } });
    expect(resumes).toBe(1);
  });
});

describe('what a server says of its agents', () => {
  it('is read page by page, without agents that cannot be named', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `agent-${index}`);
    const agents = Object.fromEntries(
      [...names, 'no good name'].map((name) => [name, async () => {}]),
    );
    const server = await startRunServer(agents);
    const adapter = openRunAdapter(server.uri);
    onTestFinished(async () => {
      await adapter.close();
      await server.stop();
    });
    const { capabilities } = await adapter.describe(CONTEXT);
    expect(capabilities.map(({ name }) => name)).toEqual(names);
    expect(capabilities[0]).toMatchObject({
      description: 'The agent agent-0',
      streaming: true,
      modalities: ['text', 'image'],
      input_schema: { required: ['task'] },
    });
  });

  it.each([
    ['no list', '{"models":[]}', 'bad_result'],
    ['no JSON', '<html>', 'invalid_json'],
  ])('fails for %s', async (_, body, reason) => {
    const { adapter } = await openRuns(async () => {}, {
      instead: (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
        return true;
      },
    });
    await expect(adapter.describe(CONTEXT)).rejects.toMatchObject({ details: { reason } });
  });
});
