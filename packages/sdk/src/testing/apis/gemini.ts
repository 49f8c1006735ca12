import { type FakeApi, fragments, gather } from '../fake-api.ts';
import {
  type FakeMessagePart,
  type FakeQuestion,
  optional,
  record,
  records,
  text,
} from '../fake-request.ts';
import { type FakePart, type FakeSpeech, isMedia, toMedia } from '../fake-script.ts';

const PATH = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)(\?.*)?$/;

/** Gemini: `generateContent` and `streamGenerateContent`. */
export const gemini: FakeApi = {
  basePath: '/v1beta',
  readKey: (headers) => {
    const key = headers['x-goog-api-key'];
    return typeof key === 'string' ? key : undefined;
  },
  readQuestion: (path, body) => {
    const [, model, method] = PATH.exec(path) ?? [];
    if (model === undefined) return undefined;
    return toQuestion(model, method === 'streamGenerateContent', body);
  },
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

function toQuestion(
  model: string,
  stream: boolean,
  body: Readonly<Record<string, unknown>>,
): FakeQuestion {
  return {
    model,
    stream,
    system: records(record(body.systemInstruction).parts)
      .map((part) => text(part.text))
      .join('\n'),
    messages: gather(
      records(body.contents).map(({ role, parts }) => ({
        role: role === 'model' ? 'assistant' : 'user',
        parts: records(parts).map(readPart),
      })),
    ),
    tools: records(body.tools)
      .flatMap(({ functionDeclarations }) => records(functionDeclarations))
      .map((tool) => ({
        name: text(tool.name),
        ...optional('description', tool.description),
        parameters: tool.parametersJsonSchema ?? tool.parameters,
      })),
  };
}

function readPart(part: Readonly<Record<string, unknown>>): FakeMessagePart {
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
    return { text: part.reasoning, thought: true, ...signed(part.signature) };
  }
  if (isMedia(part)) return { inlineData: toMedia(part) };
  const { id, name, args, signature } = part.call;
  return { functionCall: { ...optional('id', id), name, args }, ...signed(signature) };
}

function signed(signature: string | undefined): object {
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
