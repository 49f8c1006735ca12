import type { FakeScript } from '@starloom/sdk/testing';
import { describe, expect, it } from 'vitest';
import { FAKE_APIS, type FakeApiName, startFakeModel } from './fake-model/fake-model.ts';

const APIS = Object.keys(FAKE_APIS) as FakeApiName[];

/** A question that each API would take, with one tool offered. */
const QUESTIONS = {
  gemini: {
    path: '/models/m:generateContent',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'fs_read', parametersJsonSchema: {} }] }],
    },
  },
  'openai-chat': {
    path: '/chat/completions',
    body: {
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: { name: 'fs_read', parameters: {} } }],
    },
  },
  'openai-responses': {
    path: '/responses',
    body: {
      model: 'm',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      tools: [{ type: 'function', name: 'fs_read', parameters: {} }],
    },
  },
  anthropic: {
    path: '/messages',
    body: {
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ name: 'fs_read', input_schema: {} }],
    },
  },
} as const satisfies Record<FakeApiName, { path: string; body: object }>;

describe.each(APIS)('a fake of %s', (api) => {
  it('reads the question in the words of every API', async () => {
    await using model = await start(api, ['Hello']);
    await post(model.baseUrl, api);
    expect(model.requests).toMatchObject([
      {
        model: 'm',
        stream: false,
        messages: [{ role: 'user', parts: [{ text: 'Hi' }] }],
        tools: [{ name: 'fs_read', parameters: {} }],
      },
    ]);
  });

  it('gives one answer of its script after the other, then says that it has ended', async () => {
    await using model = await start(api, ['one', 'two']);
    expect(await (await post(model.baseUrl, api)).text()).toContain('"one"');
    expect(await (await post(model.baseUrl, api)).text()).toContain('"two"');
    const third = await post(model.baseUrl, api);
    expect(third.status).toBe(500);
    expect(await third.text()).toContain('this is request 3');
  });

  it('spells calls as the request offered the tools', async () => {
    await using model = await start(api, [[{ call: { name: 'fs:read', args: {} } }]]);
    const text = await (await post(model.baseUrl, api)).text();
    expect(text).toContain('"fs_read"');
    expect(text).not.toContain('fs:read');
  });

  it('fails as it is told, in its own shape', async () => {
    await using model = await start(api, [{ status: 429, retryAfter: 3, message: 'slowly' }]);
    const response = await post(model.baseUrl, api);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await response.json()).toMatchObject({ error: { message: 'slowly' } });
  });

  it('refuses names that the service would refuse', async () => {
    await using model = await start(api, ['never']);
    const { path, body } = QUESTIONS[api];
    const spelled = JSON.stringify(body).replace('fs_read', 'fs:read');
    const response = await fetch(model.baseUrl + path, { method: 'POST', body: spelled });
    expect(response.status).toBe(400);
  });

  it('refuses who has not the key', async () => {
    await using model = await startFakeModel({ api, script: ['never'], key: 'k' });
    expect((await post(model.baseUrl, api)).status).toBe(401);
    expect(model.requests).toEqual([]);
  });

  it('knows no other path and no other bodies', async () => {
    await using model = await start(api, ['never']);
    const elsewhere = await fetch(`${model.baseUrl}/elsewhere`, { method: 'POST', body: '{}' });
    expect(elsewhere.status).toBe(404);
    const { path } = QUESTIONS[api];
    const broken = await fetch(model.baseUrl + path, { method: 'POST', body: '{' });
    expect(broken.status).toBe(400);
  });

  it('tells whether its answer was taken', async () => {
    await using model = await start(api, ['Hello', { say: [], after: 'hang' }]);
    await (await post(model.baseUrl, api)).text();
    expect(await model.requests[0]?.ended).toBe('answered');
    const control = new AbortController();
    const asking = post(model.baseUrl, api, control.signal);
    await expect.poll(() => model.requests.length).toBe(2);
    control.abort();
    await expect(asking).rejects.toThrow();
    expect(await model.requests[1]?.ended).toBe('left');
  });
});

describe('a fake of any service', () => {
  it('refuses a conversation in which a call has no result', async () => {
    await using model = await start('openai-chat', ['never']);
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'user', content: 'Well?' },
    ];
    const body = JSON.stringify({ model: 'm', messages });
    const response = await fetch(`${model.baseUrl}/chat/completions`, { method: 'POST', body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('[a]');
  });

  it('answers by what was asked when its script is a function', async () => {
    await using model = await start(
      'openai-chat',
      ({ tools }, index) => `${tools[0]?.name} ${index}`,
    );
    expect(await (await post(model.baseUrl, 'openai-chat')).text()).toContain('fs_read 0');
  });

  it('fails where its API has no words for the script', async () => {
    await using model = await start('anthropic', [[{ image: 'AAAA' }]]);
    const response = await post(model.baseUrl, 'anthropic');
    expect(response.status).toBe(500);
    expect(await response.text()).toContain('change the script');
  });
});

function start(api: FakeApiName, script: FakeScript) {
  return startFakeModel({ api, script });
}

function post(baseUrl: string, api: FakeApiName, signal?: AbortSignal): Promise<Response> {
  const { path, body } = QUESTIONS[api];
  const method = 'POST';
  return fetch(baseUrl + path, { method, body: JSON.stringify(body), ...(signal && { signal }) });
}
