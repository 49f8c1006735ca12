// What a message says, whichever parts it says it in.

import type { Message, Part } from '@a2a-js/sdk';
import { type Attachment, FabricError } from '@starloom/core';
import { a2aError } from './failures.ts';
import { takes } from './input-modes.ts';

type Fields = Readonly<Record<string, unknown>>;

export function textOf({ parts }: Message): string {
  return parts
    .flatMap(({ content }) => (content?.$case === 'text' ? content.value : []))
    .join('\n');
}

/** The data parts as one object; `undefined` when there are none. */
export function dataOf({ parts }: Message): Fields | undefined {
  const found: Fields[] = [];
  for (const { content } of parts) {
    if (content?.$case !== 'data') continue;
    const { value } = content;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new FabricError('BAD_INPUT', 'A data part must be an object', {
        details: { reason: 'data_part', fix: 'send the arguments as one JSON object' },
      });
    }
    found.push(value);
  }
  return found.length === 0 ? undefined : Object.assign({}, ...found);
}

export function attachmentsOf({ parts }: Message): Attachment[] {
  return parts.flatMap((part) => {
    const { content, filename, mediaType } = part;
    if (content?.$case !== 'raw' && content?.$case !== 'url') return [];
    return {
      ...(filename !== '' && { name: filename }),
      media_type: mediaType || OCTETS,
      ...(content.$case === 'raw'
        ? { data: Buffer.from(content.value).toString('base64') }
        : { uri: checkedUrl(content.value) }),
    };
  });
}

/** CONTENT_TYPE_NOT_SUPPORTED for a part of a media type that none of the modes takes. */
export function assertModes({ parts }: Message, modes: readonly string[]): void {
  for (const part of parts) {
    const mediaType = part.mediaType || defaultType(part);
    if (takes(modes, mediaType)) continue;
    throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', `The agent does not take ${mediaType}`, { modes });
  }
}

const OCTETS = 'application/octet-stream';

function defaultType({ content }: Part): string {
  if (content?.$case === 'raw' || content?.$case === 'url') return OCTETS;
  return content?.$case === 'data' ? 'application/json' : 'text/plain';
}

function checkedUrl(url: string): string {
  if (URL.canParse(url)) return url;
  throw new FabricError('BAD_INPUT', 'The url of a part is not a URL', {
    details: { reason: 'bad_url' },
  });
}
