// Every service that speaks chat completions: Ollama, vLLM, llama.cpp, and those of vendors. It needs no
// package of a vendor. An answer is read by its own type, not by the one that was asked for: some servers
// stream without being asked, others do not stream when asked.

import { foldEvents, type IAgentContext, type ProviderEvent } from '@starloom/sdk';
import { readSse } from '@starloom/wire';
import { ChatAnswer } from './chat/chat-answer.ts';
import { toChatRequest } from './chat/chat-request.ts';
import { type ChatReply, ChatService } from './chat/chat-service.ts';
import type { OpenaiCompatibleConfig } from './config.ts';
import { ModelErrors } from './model-error.ts';
import { type OpenedProvider, withLatency } from './provider-host.ts';
import { toPrompt } from './to-prompt.ts';
import { namesOf, type ToolNames } from './tool-names.ts';

const MAX_EVENT_BYTES = 32 * 1024 * 1024;

export function openOpenaiCompatible(config: OpenaiCompatibleConfig): OpenedProvider {
  const { base_url, model, api_key, kind: _, ...options } = config;
  const key = api_key?.reveal();
  const errors = new ModelErrors(model, [key]);
  const service = new ChatService(base_url, key, errors);

  async function* ask(prompt: string, context: IAgentContext, stream: boolean) {
    const started = performance.now();
    const names = namesOf(context);
    const shown = toPrompt(prompt, context);
    const request = toChatRequest(shown, context.tools.values(), names, {
      model,
      stream,
      ...options,
    });
    const reply = await service.ask(request, context.signal);
    for await (const event of readReply(reply, stream, names, errors))
      yield withLatency(event, started);
  }

  return {
    name: `openai-compatible/${model}`,
    readsBlocks: true,
    stream: (prompt, context) => ask(prompt, context, true),
    generate: async (prompt, context) =>
      foldEvents(await Array.fromAsync(ask(prompt, context, false))),
    close: () => service.close(),
  };
}

async function* readReply(
  { contentType, body }: ChatReply,
  askedForStream: boolean,
  names: ToolNames,
  errors: ModelErrors,
): AsyncGenerator<ProviderEvent> {
  const answer = new ChatAnswer(names, errors);
  if (!isStream(contentType, askedForStream)) {
    yield* answer.push(parse(await readWhole(body), errors));
    yield* answer.end({ isWhole: true });
    return;
  }
  for await (const { data } of readSse(body, { maxEventBytes: MAX_EVENT_BYTES })) {
    if (data.trim() === '[DONE]') answer.finish();
    else yield* answer.push(parse(data, errors));
  }
  yield* answer.end({ isWhole: false });
}

function isStream(contentType: string, askedForStream: boolean): boolean {
  if (/event-stream/i.test(contentType)) return true;
  return askedForStream && !/\bjson\b/i.test(contentType);
}

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString('utf8');
}

function parse(text: string, errors: ModelErrors): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw errors.unreadable(text, cause);
  }
}
