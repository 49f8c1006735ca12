// Every service that speaks chat completions: Ollama, vLLM, llama.cpp, and those of vendors. It needs no
// package of a vendor. An answer is read by its own type, not by the one that was asked for: some servers
// stream without being asked, others do not stream when asked.

import { FabricError, socketErrorCode } from '@starloom/core';
import { foldEvents, type IAgentContext, type ProviderEvent } from '@starloom/sdk';
import { createAddressGuard, GuardedHttp, type HttpAnswer, readSse } from '@starloom/wire';
import { ChatAnswer } from './chat/chat-answer.ts';
import { toChatRequest } from './chat/chat-request.ts';
import { ModelErrors } from './model-error.ts';
import { type OpenaiCompatibleConfig, type OpenedProvider, withLatency } from './provider-host.ts';
import { toPrompt } from './to-prompt.ts';
import { namesOf, type ToolNames } from './tool-names.ts';

const MAX_EVENT_BYTES = 32 * 1024 * 1024;

export function openOpenaiCompatible(config: OpenaiCompatibleConfig): OpenedProvider {
  const { base_url, model, api_key, takes = [], kind: _, ...options } = config;
  const key = api_key?.reveal();
  const errors = new ModelErrors(model, key);
  const service = createChatService(base_url, key, errors);

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
    takes,
    stream: (prompt, context) => ask(prompt, context, true),
    generate: async (prompt, context) =>
      foldEvents(await Array.fromAsync(ask(prompt, context, false))),
    close: () => service.close(),
  };
}

interface ChatReply {
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array>;
}

async function* readReply(
  { contentType, body }: ChatReply,
  askedForStream: boolean,
  names: ToolNames,
  errors: ModelErrors,
): AsyncGenerator<ProviderEvent> {
  const answer = new ChatAnswer(names, errors);
  if (!isStream(contentType, askedForStream)) {
    const whole = Buffer.concat(await Array.fromAsync(body)).toString('utf8');
    yield* answer.push(parse(whole, errors));
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

function parse(text: string, errors: ModelErrors): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw errors.unreadable(text, cause);
  }
}

/** How long a service may be silent: loading a large model, or reading a long prompt. */
const SILENCE_MS = 300_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 16_384;

/** Retries nothing and follows no redirect: a key goes to the configured host and nowhere else. */
function createChatService(baseUrl: string, key: string | undefined, errors: ModelErrors) {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`;
  const headers = {
    'content-type': 'application/json',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
  const http = new GuardedHttp({
    guard: createAddressGuard({ allow: [url.hostname] }),
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
  });

  const toFailure = (error: FabricError, signal: AbortSignal | undefined, answered: boolean) => {
    if (signal?.aborted) return FabricError.from(signal.reason);
    const code = socketErrorCode(error.cause);
    if (code !== undefined && SILENT.has(code)) return errors.of('silent', {}, error.cause);
    if (error.details.reason === 'invalid_http') return errors.unreadable('', error.cause);
    return errors.ofConnection(error.cause ?? error, answered);
  };

  /** Fails with the errors of a model. Leaving it early closes the connection. */
  async function* read(answer: HttpAnswer, signal: AbortSignal | undefined) {
    let length = 0;
    try {
      for await (const chunk of answer.body()) {
        length += chunk.length;
        if (length > MAX_ANSWER_BYTES)
          throw errors.of('answer_too_large', { limit_bytes: MAX_ANSWER_BYTES });
        yield chunk;
      }
    } catch (error) {
      throw toFailure(FabricError.from(error), signal, true);
    } finally {
      answer.abort(LEFT);
    }
  }

  return {
    async ask(request: object, signal: AbortSignal | undefined): Promise<ChatReply> {
      if (signal?.aborted) throw FabricError.from(signal.reason);
      const answer = http.send(
        url,
        { method: 'POST', headers, body: JSON.stringify(request) },
        signal,
      );
      const { status, headers: given } = await answer.head.catch((error: FabricError) => {
        throw toFailure(error, signal, false);
      });
      if (status >= 200 && status < 300) {
        return { contentType: given['content-type'] ?? '', body: read(answer, signal) };
      }
      const { bytes } = await answer.read(MAX_ERROR_BYTES).catch(() => ({ bytes: '' }));
      throw errors.ofStatus({
        status,
        retryAfter: given['retry-after'],
        retryAfterMs: given['retry-after-ms']?.toString(),
        body: bytes.toString(),
      });
    },
    close: () => http.close(),
  };
}

const SILENT: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
const LEFT = new FabricError('CANCELLED', 'The answer is not read any more');
