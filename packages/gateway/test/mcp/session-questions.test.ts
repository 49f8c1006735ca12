import type { InputRequest } from '@starloom/core';
import type { MemoryAgent } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { openTestGateway } from '../test-gateway.ts';
import { EventReader, OlderClient } from './older-client.ts';

const question: InputRequest = {
  id: 'who',
  kind: 'form',
  message: 'Who?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

/** Asks so often, and says what it was answered. */
const asking = (times: number): MemoryAgent =>
  async function* (_envelope, _signal, { ask }) {
    let responses: unknown;
    for (let n = 0; n < times; n += 1) responses = await ask?.([question]);
    yield { type: 'final', data: { answer: JSON.stringify(responses) } };
  };

const capabilities = { elicitation: {} };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const CALL = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'percy.work' } };

async function beginCall(client: OlderClient) {
  const control = new AbortController();
  const response = await client.send('POST', {}, JSON.stringify(CALL), control.signal);
  return new EventReader(response, control);
}

const answer = (client: OlderClient, id: unknown, result: object = accepted) =>
  client.post({ jsonrpc: '2.0', id, result });

describe('a question of an agent to a client with a session', () => {
  it('comes on the stream of the call, and its answer goes to the agent', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    const asked = await stream.nextMessage();
    expect(asked).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: question.schema },
    });
    expect((await answer(client, asked.id)).status).toBe(202);
    const { id, result } = await stream.nextMessage();
    expect(id).toBe(9);
    expect(JSON.parse(result.content[0].text)).toMatchObject([{ id: 'who', ...accepted }]);
    expect(await stream.next()).toBeUndefined();
  });

  it('is answered also while the gateway shuts down', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    const asked = await stream.nextMessage();
    const closed = gateway.gateway.close();
    const refused = await client.post({ ...CALL, id: 10 });
    expect(refused.status).toBe(503);
    expect((await answer(client, asked.id)).status).toBe(202);
    expect((await stream.nextMessage()).result.content[0].text).toContain('Ada');
    await closed;
  });

  it('is answered by that session alone', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const other = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    const { id } = await stream.nextMessage();
    expect((await answer(other, id, { action: 'decline' })).status).toBe(202);
    expect((await answer(client, 'nonsense')).status).toBe(202);
    await answer(client, id);
    const { result } = await stream.nextMessage();
    expect(result.content[0].text).toContain('Ada');
    expect((await answer(client, id)).status).toBe(202);
  });

  it('fails the call when the client answers something else', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    const { id } = await stream.nextMessage();
    await answer(client, id, { action: 7 });
    expect((await stream.nextMessage()).result).toMatchObject({ isError: true });
  });

  it('is withdrawn when the client cancels the call', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    await stream.nextMessage();
    const params = { requestId: CALL.id };
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    expect((await stream.nextMessage()).method).toBe('notifications/cancelled');
    expect(await stream.nextMessage()).toBeUndefined();
    expect((await client.request('ping', {}, CALL.id)).status).toBe(200);
  });

  it('ends with the session', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    await stream.nextMessage();
    expect((await client.send('DELETE')).status).toBe(200);
    expect((await stream.nextMessage()).method).toBe('notifications/cancelled');
    expect(await stream.nextMessage()).toBeUndefined();
  });

  it('is not asked for ever', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(200) } });
    const client = await OlderClient.open(gateway.url, { capabilities });
    const stream = await beginCall(client);
    let questions = 0;
    let message = await stream.nextMessage();
    for (; message.method !== undefined; message = await stream.nextMessage()) {
      questions += 1;
      await answer(client, message.id);
    }
    expect(questions).toBe(100);
    expect(message.result).toMatchObject({ isError: true });
  });

  it('is not asked of a client that did not declare that it answers', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking(1) } });
    const client = await OlderClient.open(gateway.url, { capabilities: { roots: {} } });
    const { type, messages } = await client.call('percy.work');
    expect(type).toBe('application/json');
    expect(messages[0].result).toMatchObject({ isError: true });
  });
});
