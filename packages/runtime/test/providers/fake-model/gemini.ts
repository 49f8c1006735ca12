import type { FakeMessagePart, FakePart } from '@starloom/sdk/testing';
import {
  type FakeApi,
  type FakeSpeech,
  fragments,
  isMedia,
  type Json,
  optional,
  record,
  records,
  text,
  toMedia,
} from './fake-api.ts';

/** Gemini: `generateContent`, `streamGenerateContent` and `cachedContents`. */
export const gemini: FakeApi = {
  basePath: '/v1beta',
  path: /^\/v1beta\/models\/(?<model>[^/:]+):(?<method>(?:streamG|g)enerateContent)(\?.*)?$/,
  stored: {
    path: /^\/v1beta\/(?<id>cachedContents(?:\/[^?]+)?)(?:\?.*)?$/,
    field: 'cachedContent',
  },
  keyHeader: 'x-goog-api-key',
  readQuestion: (body) => ({
    system: records(record(body.systemInstruction).parts).map((part) => part.text),
    messages: records(body.contents).map(({ role, parts }) => ({
      role: role === 'model' ? 'assistant' : 'user',
      parts: records(parts).map(readPart),
    })),
    tools: records(body.tools)
      .flatMap(({ functionDeclarations }) => records(functionDeclarations))
      .map(({ name, description, parametersJsonSchema, parameters }) => {
        return { name, description, parameters: parametersJsonSchema ?? parameters };
      }),
  }),
  writeBody: (speech, model) => ({
    ...toChunk(speech.parts.map(toPart), model),
    ...end(speech, model),
    candidates: [
      { content: { role: 'model', parts: speech.parts.map(toPart) }, ...finish(speech) },
    ],
  }),
  writeStream: (speech, model) => ({
    said: speech.parts.flatMap(split).map((part) => ({ data: toChunk([toPart(part)], model) })),
    ending: [{ data: end(speech, model) }],
  }),
  writeError: (status, message) => ({
    error: { code: status, message, status: STATUS_NAMES[status] ?? 'INTERNAL' },
  }),
};

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

const FINISH = { stop: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' } as const;

function readPart(part: Json): FakeMessagePart {
  if ('functionCall' in part) {
    const { id, name, args } = record(part.functionCall);
    return { call: { ...optional('id', id), name: text(name), args } };
  }
  if ('functionResponse' in part) {
    const { id, name, response } = record(part.functionResponse);
    const { content } = record(response);
    const shown = typeof content === 'string' ? content : JSON.stringify(response);
    return { result: { ...optional('id', id), ...optional('name', name), text: shown } };
  }
  const inline = record(part.inlineData ?? part.fileData);
  if ('mimeType' in inline) {
    const data = text(inline.data ?? inline.fileUri);
    return { media: { ...optional('mimeType', inline.mimeType), data } };
  }
  return part.thought === true ? { reasoning: text(part.text) } : { text: text(part.text) };
}

function toPart(part: FakePart): object {
  if ('text' in part) return { text: part.text };
  if ('reasoning' in part) {
    return { text: part.reasoning, thought: true, ...toSignature(part.signature) };
  }
  if (isMedia(part)) return { inlineData: toMedia(part) };
  const { id, name, args, signature } = part.call;
  return { functionCall: { ...optional('id', id), name, args }, ...toSignature(signature) };
}

function toSignature(signature: string | undefined): object {
  return signature === undefined ? {} : { thoughtSignature: signature };
}

/** Calls and pictures come whole; a signature comes with the last fragment. */
function split(part: FakePart): FakePart[] {
  if ('text' in part) return fragments(part.text).map((piece) => ({ text: piece }));
  if (!('reasoning' in part)) return [part];
  const pieces = fragments(part.reasoning);
  return pieces.map((piece, index) => ({
    reasoning: piece,
    ...(index === pieces.length - 1 && part.signature !== undefined
      ? { signature: part.signature }
      : {}),
  }));
}

function toChunk(parts: readonly object[], model: string): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts } }],
    modelVersion: model,
    responseId: 'response-1',
  };
}

function end(speech: FakeSpeech, model: string): object {
  const { input, output, cacheRead } = speech.usage;
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: [] }, ...finish(speech) }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      cachedContentTokenCount: cacheRead,
      totalTokenCount: input + output,
    },
    modelVersion: model,
    responseId: 'response-1',
  };
}

function finish(speech: FakeSpeech): object {
  return { finishReason: FINISH[speech.finish], index: 0 };
}
