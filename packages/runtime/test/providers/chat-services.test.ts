import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { foldEvents, type ITool, type ProviderResponse } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import type { OpenedProvider } from '../../src/providers/provider-host.ts';
import { context, serveEvents, serveHttp, serveJson } from './fixtures/raw-server.ts';

const TOOL: ITool = {
  name: 'fs:read_file',
  description: 'Reads',
  parameters: { type: 'object' },
  execute: () => '',
};
const tools = new Map([[TOOL.name, TOOL]]);

describe('chat services differ, and are understood', () => {
  it('the provider reads an answer that has nothing but words', async () => {
    const { provider } = await serveJson({ choices: [{ message: { content: 'Hi' } }] });
    expect(await provider.generate('x', context())).toMatchObject({
      segments: [{ type: 'text', text: 'Hi' }],
      metadata: { finishReason: 'stop' },
    });
  });

  it('the provider reads arguments that are an object, or JSON in JSON', async () => {
    const call = (args: unknown) => ({ function: { name: 'fs_read_file', arguments: args } });
    const tool_calls = [call({ path: 'a' }), call('"{\\"path\\":\\"b\\"}"'), call('')];
    const { provider } = await serveJson({ choices: [{ message: { tool_calls } }] });
    const { segments, metadata } = await provider.generate('x', context({ tools }));
    const calls = segments.map(({ toolCall }) => toolCall);
    expect(calls.map((each) => each?.args)).toEqual([{ path: 'a' }, { path: 'b' }, {}]);
    expect(calls.map((each) => each?.name)).toEqual(Array(3).fill('fs:read_file'));
    expect(metadata?.finishReason).toBe('tool_calls');
  });

  it('the provider joins fragments that have no index, or all the same', async () => {
    const name = 'fs_read_file';
    const fragments = [
      { id: 'a', function: { name, arguments: '{"path":' } },
      { function: { arguments: '"1"}' } },
      { id: 'b', function: { name, arguments: '{"path":"2"}' } },
      { index: 0, id: 'c', function: { name, arguments: '{"path":"3"}' } },
      { index: 0, id: 'd', function: { name, arguments: '{"path":"4"}' } },
    ];
    const { provider } = await serveEvents(fragments.map((each) => delta({ tool_calls: [each] })));
    const calls = (await streamed(provider)).segments.map(({ toolCall }) => toolCall);
    expect(calls.map((each) => [each?.id, each?.args])).toEqual([
      ['a', { path: '1' }],
      ['b', { path: '2' }],
      ['c', { path: '3' }],
      ['d', { path: '4' }],
    ]);
  });

  it('the provider joins fragments that all repeat id and name', async () => {
    const fragment = (args: string) => ({
      index: 0,
      id: 'a',
      function: { name: 'fs_read_file', arguments: args },
    });
    const pieces = ['{"pa', 'th":', '"x"}'];
    const { provider } = await serveEvents(
      pieces.map((piece) => delta({ tool_calls: [fragment(piece)] })),
    );
    expect((await streamed(provider)).segments).toEqual([
      { type: 'tool_call', toolCall: { id: 'a', name: 'fs:read_file', args: { path: 'x' } } },
    ]);
  });

  it('the provider reads a stream it did not ask for, and a document in place of a stream', async () => {
    const streaming = await serveEvents([delta({ content: 'Hi' })]);
    expect((await streaming.provider.generate('x', context())).segments).toMatchObject([
      { text: 'Hi' },
    ]);
    const buffered = await serveJson({ choices: [{ message: { content: 'Hi' } }] });
    expect((await streamed(buffered.provider)).segments).toMatchObject([{ text: 'Hi' }]);
  });

  it('the answer ends by a reason without [DONE], or by [DONE] without a reason', async () => {
    const reason = { choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] };
    const one = await serveEvents([reason], { done: false });
    expect((await streamed(one.provider)).segments).toHaveLength(1);
    const other = await serveEvents([delta({ content: 'Hi' })], { done: true });
    expect((await streamed(other.provider)).segments).toHaveLength(1);
  });

  it('the provider reads pictures, sounds and refusals beside the words', async () => {
    const message = {
      content: 'Look',
      refusal: ' (not at this)',
      images: [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,AAAA' } }],
      audio: { data: 'BBBB', transcript: ' Listen', format: 'mp3' },
    };
    const { provider } = await serveJson({ choices: [{ message }] });
    expect((await provider.generate('x', context())).segments).toEqual([
      { type: 'text', text: 'Look (not at this)' },
      { type: 'image', data: 'AAAA', mimeType: 'image/webp' },
      { type: 'text', text: ' Listen' },
      { type: 'audio', data: 'BBBB', mimeType: 'audio/mp3' },
    ]);
  });

  it('the provider understands a failure with status 200', async () => {
    const error = { code: 429, message: 'slow down' };
    const { provider } = await serveJson({ error });
    await expect(provider.generate('x', context())).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    const midway = await serveEvents([
      delta({ content: 'Hi' }),
      { error: { message: 'out of memory' } },
    ]);
    await expect(streamed(midway.provider)).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { status: 500, upstream: expect.stringContaining('out of memory') },
    });
  });
});

describe('what a chat service gets back', () => {
  it.each(['reasoning_content', 'reasoning'])(
    'is the reasoning of the turn, as %s, and none of turns before',
    async (field) => {
      const asked: unknown[] = [];
      const call = { id: 'a', function: { name: 'fs_read_file', arguments: '{}' } };
      const message = { [field]: 'Hm.', tool_calls: [call] };
      const { provider } = await serveHttp(async (request, response) => {
        asked.push(await body(request));
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ choices: [{ message }] }));
      });
      const { segments } = await provider.generate('x', context({ tools }));
      const said = [block('user', [{ type: 'text', text: 'x' }]), block('assistant', segments)];
      await provider.generate('', context({ tools, blocks: said }));
      await provider.generate('And now?', context({ tools, blocks: said }));
      expect(asked[1]).toMatchObject({ messages: [{}, {}, { [field]: 'Hm.' }, {}] });
      expect(JSON.stringify(asked[2])).not.toContain('Hm.');
    },
  );

  it('the service gets back what it attached to a call', async () => {
    const extra_content = { google: { thought_signature: 'sig' } };
    const tool_calls = [{ id: 'a', function: { name: 'f', arguments: '{}' }, extra_content }];
    const asked: unknown[] = [];
    const { provider } = await serveHttp(async (request, response) => {
      asked.push(await body(request));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ message: { tool_calls } }] }));
    });
    const { segments } = await provider.generate('x', context());
    await provider.generate('', context({ blocks: [block('assistant', segments)] }));
    expect(asked[1]).toMatchObject({ messages: [{ tool_calls: [{ extra_content }] }, {}] });
  });
});

function delta(given: object): object {
  return { choices: [{ index: 0, delta: given }] };
}

async function streamed(provider: OpenedProvider): Promise<ProviderResponse> {
  return foldEvents(await Array.fromAsync(provider.stream('x', context({ tools }))));
}

function body(request: IncomingMessage): Promise<unknown> {
  return json(request);
}

function block(role: 'user' | 'assistant', segments: ProviderResponse['segments']) {
  const labels = { trust: 'trusted', type: 'instruction', source: role } as const;
  return { id: 'b', role, segments, ...labels };
}
