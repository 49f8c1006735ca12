import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FabricError } from '@starloom/core';
import { BoundedBody, type HttpAnswer, type HttpHead } from '@starloom/wire';

const TEXT = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|javascript|yaml|x-ndjson)\b)/i;

/** The body as text, decompressed; UPSTREAM_ERROR when it is none or larger than `maxBytes`. */
export async function readText(
  answer: HttpAnswer,
  { headers }: HttpHead,
  maxBytes: number,
): Promise<string> {
  const type = headers['content-type'] ?? 'text/plain';
  if (!TEXT.test(type)) {
    answer.leave();
    throw new FabricError('UPSTREAM_ERROR', 'The answer is not text', {
      details: { reason: 'not_text', content_type: type, fix: 'ask for a text document' },
    });
  }
  const text = new BoundedBody(maxBytes);
  for await (const chunk of decoded(answer, headers['content-encoding'])) {
    if (text.push(chunk)) continue;
    const error = tooLarge(maxBytes);
    answer.abort(error);
    throw error;
  }
  return decoderFor(type).decode(text.toBuffer());
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function decoded(answer: HttpAnswer, encoding = 'identity'): AsyncIterable<Buffer> {
  const create = DECODERS[encoding.toLowerCase()];
  if (!create) return answer.body();
  // Who reads the decoder sees what fails before it.
  return pipeline(Readable.from(answer.body()), create(), () => {});
}

function decoderFor(type: string): InstanceType<typeof TextDecoder> {
  const [, charset = 'utf-8'] = /charset="?([\w-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function tooLarge(limit: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The answer is larger than ${limit} bytes`, {
    details: {
      reason: 'answer_too_large',
      limit,
      fix: 'ask for less, or raise max_bytes of the http plugin',
    },
  });
}
