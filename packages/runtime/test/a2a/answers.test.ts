import type { ToolContext } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { callTools, say, scripted, tool } from '../core/world.ts';
import { message, openServed, rpc, stream } from './served.ts';

const FILE = { type: 'file', name: 'report.txt', mimeType: 'text/plain' } as const;

describe('the answers of an agent over A2A', () => {
  it('are artifacts of their own where they are files or data, streamed and read alike', async () => {
    const segments = [
      { type: 'text' as const, text: 'Here.' },
      { ...FILE, data: btoa('all well') },
      { ...FILE, data: 'https://example.com/report.txt' },
      { type: 'ui' as const, ui: { count: 42 } },
    ];
    await using served = await openServed({ provider: scripted({ segments }, { segments }) });
    const about = { filename: 'report.txt', mediaType: 'text/plain' };
    const parts = [
      { raw: btoa('all well'), ...about },
      { url: 'https://example.com/report.txt', ...about },
      { data: { count: 42 } },
      { text: 'Here.' },
    ];
    const { result } = await rpc(served.url, 'SendMessage', message('report'));
    expect(result.task.artifacts?.map((made) => made.parts)).toMatchObject(parts.map((p) => [p]));
    const read = await rpc(served.url, 'GetTask', { id: result.task.id });
    expect(read.result.artifacts).toEqual(result.task.artifacts);
    const items = await stream(served.url, 'SendStreamingMessage', message('report'));
    const streamed = items.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? []);
    for (const part of parts) expect(streamed).toContainEqual(expect.objectContaining(part));
  });

  it('are a message without a task where the model says so', async () => {
    const provider = scripted(say('Hi there.', { reply: 'message' }));
    await using served = await openServed({ provider });
    const { result } = await rpc(served.url, 'SendMessage', message('hi'));
    expect(result).toMatchObject({
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Hi there.' }] },
    });
    expect(result.task).toBeUndefined();
  });

  it('are given by a model that knows which message of which task it answers', async () => {
    const provider = scripted('Yes.');
    await using served = await openServed({ provider });
    const { result } = await rpc(served.url, 'SendMessage', message('hi', { messageId: 'm-1' }));
    const { id, contextId } = result.task;
    expect(provider.asked[0]?.context.task).toEqual({ id, contextId, messageId: 'm-1' });
  });

  it('take in the words of a document that comes as a file', async () => {
    const provider = scripted('Read.');
    await using served = await openServed({ provider });
    const file = { raw: btoa('the words of it'), filename: 'a.txt', mediaType: 'text/plain' };
    await rpc(served.url, 'SendMessage', message('', { parts: [file] }));
    expect(JSON.stringify(provider.asked[0]?.context.blocks)).toContain('the words of it');
  });

  it('wait for what a tool asks its caller, as often as it asks', async () => {
    const asks = tool('test:ask', async (_: never, context: ToolContext) => {
      const name = await context.ask?.('Which name?');
      return `${name}, ${await context.ask?.('Which town?')}`;
    });
    const provider = scripted(callTools({ id: '1', name: 'test:ask' }), 'Done.');
    await using served = await openServed({ provider, tools: [asks] });
    const { task } = (await rpc(served.url, 'SendMessage', message('greet'))).result;
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(task.status.message.parts[0]?.text).toBe('Which name?');
    const place = { taskId: task.id };
    const next = (await rpc(served.url, 'SendMessage', message('Ada', place))).result.task;
    expect(next.status.message.parts[0]?.text).toBe('Which town?');
    const last = (await rpc(served.url, 'SendMessage', message('London', place))).result.task;
    expect(last).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(JSON.stringify(provider.asked[1]?.context.blocks)).toContain('Ada, London');
  });

  it('do not wait where no one can be asked: a tool sees that, and a refusal', async () => {
    const seen: unknown[] = [];
    const asks = tool('test:ask', async (_: never, { ask }: ToolContext) => {
      seen.push(ask ? await ask('Which name?') : 'no one');
      return 'went on';
    });
    const calls = callTools({ id: '1', name: 'test:ask' });
    const provider = scripted(calls, 'Done.', calls, 'Done.');
    await using served = await openServed({ provider, tools: [asks] });
    await served.agent.turn('greet');
    const { task } = (await rpc(served.url, 'SendMessage', message('greet'))).result;
    const metadata = { 'io.starloom/action': 'decline' };
    await rpc(served.url, 'SendMessage', message('no', { taskId: task.id, metadata }));
    expect(seen).toEqual(['no one', undefined]);
  });

  it('are promised by one card for clients of both versions, the extended card included', async () => {
    await using served = await openServed({ provider: scripted('x') });
    const response = await fetch(`${served.url}/.well-known/agent-card.json`);
    expect(await response.json()).toMatchObject({
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    });
  });

  it('come in the versions that agent.toml names, and the card is of these alone', async () => {
    const toml = { a2a: { versions: ['1.0' as const] } };
    await using served = await openServed({ provider: scripted('x'), toml });
    const card = await (await fetch(`${served.url}/.well-known/agent-card.json`)).json();
    expect(card).not.toHaveProperty('protocolVersion');
    expect(card).toMatchObject({
      supportedInterfaces: [{ protocolVersion: '1.0' }, { protocolVersion: '1.0' }],
    });
    const older = await rpc(served.url, 'message/send', {}, { 'A2A-Version': '0.3' });
    expect(older.error.code).toBe(-32_009);
  });
});
