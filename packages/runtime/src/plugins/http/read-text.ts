import { FabricError } from '@starloom/core';
import type { Response } from 'undici';

const TEXT = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|javascript|yaml|x-ndjson)\b)/i;

/** The body as text, decompressed; UPSTREAM_ERROR when it is none or larger than `maxBytes`. */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const type = response.headers.get('content-type') ?? 'text/plain';
  if (response.body === null) return '';
  if (!TEXT.test(type)) {
    await response.body.cancel();
    throw new FabricError('UPSTREAM_ERROR', 'The answer is not text', {
      details: { reason: 'not_text', content_type: type, fix: 'ask for a text document' },
    });
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return decoderFor(type).decode(Buffer.concat(chunks));
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
