import { FabricError, silentLog } from '@starloom/core';
import { foldEvents, type ProviderResponse } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import type { LanguageModel } from '../../src/providers/ai-sdk/language-model.ts';
import { createAiSdkProvider } from '../../src/providers/ai-sdk.ts';
import { answering, FINISH, modelOf, streaming, streamingWhole } from './fixtures/parts-model.ts';
import { context } from './fixtures/raw-server.ts';

describe('[P4] parts of an answer', () => {
  it('stand in the order in which they began, whenever they end', async () => {
    const { segments } = await streamed(
      streamingWhole(
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'First ' },
        { type: 'reasoning-start', id: '2' },
        { type: 'reasoning-delta', id: '2', delta: 'second' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'third', input: '{}' },
        { type: 'text-delta', id: '1', delta: 'of all' },
        { type: 'text-end', id: '1', providerMetadata: { vendor: { item: 'x' } } },
        { type: 'reasoning-end', id: '2' },
      ),
    );
    expect(segments).toEqual([
      { type: 'text', text: 'First of all', providerMetadata: { vendor: { item: 'x' } } },
      { type: 'reasoning', text: 'second' },
      { type: 'tool_call', toolCall: { id: 'c', name: 'third', args: {} } },
    ]);
  });

  it('flow before they end', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    async function* parts() {
      yield { type: 'text-start', id: '1' };
      yield { type: 'text-delta', id: '1', delta: 'now' };
      await never;
    }
    const model = modelOf({ doStream: async () => ({ stream: ReadableStream.from(parts()) }) });
    for await (const event of createAiSdkProvider(model).stream('x', context())) {
      expect(event).toEqual({ type: 'text', text: 'now' });
      break;
    }
  });

  it('keep what a vendor says of them, gathered from start, middle and end', async () => {
    const { segments } = await streamed(
      streamingWhole(
        { type: 'reasoning-start', id: '1', providerMetadata: { v: { a: 1 } } },
        { type: 'reasoning-delta', id: '1', delta: '', providerMetadata: { v: { b: 2 } } },
        { type: 'reasoning-end', id: '1', providerMetadata: { v: { a: 3 }, w: { c: 4 } } },
        { type: 'text-start', id: '2' },
        { type: 'text-end', id: '2' },
      ),
    );
    const providerMetadata = { v: { a: 3, b: 2 }, w: { c: 4 } };
    expect(segments).toEqual([{ type: 'reasoning', text: '', providerMetadata }]);
  });

  it('files become pictures, sounds, films and components', async () => {
    const ui = { component: 'card' };
    const { segments } = await createAiSdkProvider(
      answering(
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        { type: 'text', text: 'and' },
        { type: 'file', mediaType: 'audio/mp3', data: { type: 'data', data: new Uint8Array(3) } },
        {
          type: 'file',
          mediaType: 'video/mp4',
          data: { type: 'url', url: new URL('https://f.test/1') },
        },
        { type: 'file', mediaType: 'application/json+a2ui', data: btoa(JSON.stringify(ui)) },
        { type: 'file', mediaType: 'application/pdf', data: 'AAAA' },
      ),
    ).generate('x', context());
    expect(segments).toEqual([
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: 'and' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/mp3' },
      { type: 'video', data: 'https://f.test/1', mimeType: 'video/mp4' },
      { type: 'ui', ui },
      { type: 'text', text: '[file of type application/pdf]' },
    ]);
  });

  it('calls that the service ran itself are results, and never calls for us to run', async () => {
    const { segments } = await createAiSdkProvider(
      answering(
        {
          type: 'tool-call',
          toolCallId: 's',
          toolName: 'web_search',
          input: '{}',
          providerExecuted: true,
        },
        { type: 'tool-result', toolCallId: 's', toolName: 'web_search', result: { hits: 1 } },
      ),
    ).generate('x', context());
    expect(segments).toEqual([
      {
        type: 'tool_result',
        toolResult: { id: 's', name: 'web_search', output: [{ type: 'text', text: '{"hits":1}' }] },
      },
    ]);
  });

  it('the log names what a model leaves out of a request', async () => {
    const reported: unknown[] = [];
    const log = { ...silentLog, debug: (fields: object) => reported.push(fields) };
    const warnings = [{ type: 'unsupported', feature: 'temperature' }];
    const model = streamingWhole({ type: 'stream-start', warnings });
    await Array.fromAsync(createAiSdkProvider(model, { log }).stream('x', context()));
    expect(reported).toEqual([{ model: 'four', type: 'unsupported', about: 'temperature' }]);
  });

  it('parts of unknown kinds are ignored', async () => {
    const { segments } = await streamed(
      streamingWhole({ type: 'custom', kind: 'x.y' }, null, 7, { type: 'source' }, {}),
    );
    expect(segments).toEqual([]);
  });
});

describe('a model that fails', () => {
  it.each([
    ['with a status inside its stream', { type: 'overloaded_error' }, 'UPSTREAM_ERROR'],
    ['with a limit inside its stream', { error: { type: 'rate_limit_error' } }, 'RATE_LIMITED'],
    ['with a code inside its stream', { code: 401, message: 'no' }, 'AUTH_DENIED'],
    ['with words inside its stream', 'it broke', 'UPSTREAM_ERROR'],
    ['by throwing', new Error('a bug'), 'UPSTREAM_ERROR'],
    ['by what it cannot do', named('AI_UnsupportedFunctionalityError'), 'BAD_INPUT'],
    ['by a key it does not find', named('AI_LoadAPIKeyError'), 'AUTH_DENIED'],
  ])('%s fails with a code', async (_, error, code) => {
    await expect(streamed(streaming({ type: 'error', error }, FINISH))).rejects.toMatchObject({
      code,
    });
    const doGenerate = async () => {
      throw error;
    };
    const provider = createAiSdkProvider(modelOf({ doGenerate }));
    await expect(provider.generate('x', context())).rejects.toMatchObject({ code });
  });

  it('keeps the cause of a bug, and shows only its beginning', async () => {
    const bug = new Error('x'.repeat(100_000));
    const doStream = async () => {
      throw bug;
    };
    const error = await streamed(modelOf({ doStream })).catch((thrown: unknown) => thrown);
    if (!FabricError.is(error)) throw error;
    expect(error.cause).toBe(bug);
    expect(JSON.stringify(error.details).length).toBeLessThan(2_000);
  });

  it.each([
    ['says it was interrupted', { unified: 'interrupted', raw: undefined }],
    ['does not know why it ended', { unified: 'other', raw: undefined }],
  ])('in the middle and %s has not answered', async (_, finishReason) => {
    const words = [
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Hi' },
    ];
    const model = streaming(...words, { ...FINISH, finishReason });
    await expect(streamed(model)).rejects.toMatchObject({ code: 'AGENT_OFFLINE' });
  });

  it('a call ends at its signal even when the model ignores it', async () => {
    const forever = () => new Promise<never>(() => {});
    const hanging = new ReadableStream({ pull: forever });
    for (const methods of [
      { doStream: forever },
      { doStream: async () => ({ stream: hanging }) },
    ]) {
      const control = new AbortController();
      const reading = streamed(modelOf(methods), control.signal);
      control.abort(new FabricError('TIMEOUT', 'Too slow'));
      await expect(reading).rejects.toMatchObject({ code: 'TIMEOUT' });
    }
  });
});

async function streamed(model: LanguageModel, signal?: AbortSignal): Promise<ProviderResponse> {
  const asked = createAiSdkProvider(model).stream('x', context(signal ? { signal } : {}));
  return foldEvents(await Array.fromAsync(asked));
}

function named(name: string): Error {
  return Object.assign(new Error('of the SDK'), { name });
}
