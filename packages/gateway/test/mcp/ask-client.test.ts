import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { askClient, canAsk, canAskAnything } from '../../src/mcp/client-side.ts';

const FORM = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
} as const;

async function openPair(capabilities: object) {
  const server = new Server({ name: 'gateway', version: '0' });
  const client = new Client(
    { name: 'older', version: '0' },
    { capabilities, versionNegotiation: { mode: 'legacy' } },
  );
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(ours as never), client.connect(theirs)]);
  return { server, client };
}

const options = () => ({ requestId: 1, signal: new AbortController().signal });

describe('a question to an older client', () => {
  it.each([
    { action: 'accept', content: { name: 'Ada' } },
    { action: 'decline' },
    { action: 'cancel' },
  ] as const)('gives its answer as it came: %o', async (answer) => {
    const { server, client } = await openPair({ elicitation: {} });
    client.setRequestHandler('elicitation/create', ({ params }) => {
      expect(params).toMatchObject(FORM);
      return answer;
    });
    const question = { method: 'elicitation/create', params: { ...FORM } } as const;
    expect(await askClient(server, question, options())).toEqual(answer);
  });

  it('is asked only of what the client declared', async () => {
    const { server } = await openPair({ roots: {} });
    expect(canAsk(server, 'roots/list')).toBe(true);
    expect(canAsk(server, 'elicitation/create')).toBe(false);
    expect(canAsk(server, 'constructor')).toBe(false);
    expect(canAskAnything(server)).toBe(true);
    const { server: other } = await openPair({});
    expect(canAskAnything(other)).toBe(false);
  });

  it('fails with the error of the client', async () => {
    const { server, client } = await openPair({ sampling: {} });
    client.setRequestHandler('sampling/createMessage', () => {
      throw Object.assign(new Error('no model'), { code: -1 });
    });
    const messages = [{ role: 'user', content: { type: 'text', text: 'Capital?' } }];
    const question = {
      method: 'sampling/createMessage',
      params: { messages, maxTokens: 1 },
    } as const;
    await expect(askClient(server, question, options())).rejects.toMatchObject({ code: -1 });
  });

  it('is withdrawn when the call is over', async () => {
    const { server, client } = await openPair({ roots: {} });
    const withdrawn = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    client.setRequestHandler('roots/list', async (_, { mcpReq }) => {
      mcpReq.signal.addEventListener('abort', () => withdrawn.resolve(), { once: true });
      asked.resolve();
      await withdrawn.promise;
      return { roots: [] };
    });
    const control = new AbortController();
    const { signal } = control;
    const asking = askClient(server, { method: 'roots/list' }, { requestId: 1, signal });
    await asked.promise;
    control.abort();
    await expect(asking).rejects.toThrow();
    await withdrawn.promise;
  });

  it('has an id of its own where it is a link', async () => {
    const { server, client } = await openPair({ elicitation: { url: {} } });
    let id: unknown;
    client.setRequestHandler('elicitation/create', ({ params }) => {
      id = (params as Record<string, unknown>).elicitationId;
      return { action: 'decline' };
    });
    const params = { mode: 'url', message: 'Sign in', url: 'https://example.test/' };
    await askClient(server, { method: 'elicitation/create', params }, options());
    expect(id).toEqual(expect.any(String));
  });
});
