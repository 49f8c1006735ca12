import type { ContentBlock } from '@modelcontextprotocol/server';
import type { ContentSegment } from '@starloom/sdk';

export type Media =
  | { readonly kind: 'data'; readonly base64: string; readonly mimeType: string }
  | { readonly kind: 'url'; readonly url: string; readonly mimeType: string };

const DEFAULT_TYPES: Readonly<Record<string, string>> = {
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
};

/** The `data` of a segment is base64, a data URL, or the address of the thing. */
export function parseMedia({ type, data = '', mimeType }: ContentSegment): Media {
  const assumed = mimeType ?? DEFAULT_TYPES[type] ?? 'application/octet-stream';
  const [, declared, base64] = DATA_URL.exec(data) ?? [];
  if (base64 !== undefined)
    return { kind: 'data', base64, mimeType: mimeType ?? declared ?? assumed };
  if (/^[a-z][a-z0-9+.-]*:/i.test(data)) return { kind: 'url', url: data, mimeType: assumed };
  return { kind: 'data', base64: data, mimeType: assumed };
}

/** The segment for a file that a model made; `undefined` for kinds that have none. */
export function toMediaSegment(mimeType: string, data: string): ContentSegment | undefined {
  const [type] = mimeType.split('/');
  if (type !== 'image' && type !== 'audio' && type !== 'video') return undefined;
  return { type, data, mimeType };
}

/** The media of a data URL, or the URL as it is. */
export function fromUrl(type: 'image' | 'audio' | 'video', url: string): ContentSegment {
  const [, mimeType, data] = DATA_URL.exec(url) ?? [];
  return mimeType === undefined || data === undefined
    ? { type, data: url }
    : { type, data, mimeType };
}

const DATA_URL = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s;

/** A segment of an answer as MCP shows it, and A2A and editors after it. Thoughts and calls are no part of it. */
export function toBlocks(segment: ContentSegment): ContentBlock[] {
  const { type, text = '' } = segment;
  switch (type) {
    case 'text':
      return [{ type: 'text', text }];
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return segment.data === undefined ? [] : [toMedia(type, segment)];
    case 'ui':
      return [{ type: 'text', text: JSON.stringify(segment.ui) }];
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return [];
  }
}

function toMedia(
  type: 'image' | 'audio' | 'video' | 'file',
  segment: ContentSegment,
): ContentBlock {
  const media = parseMedia(segment);
  const { mimeType } = media;
  const { name = type } = segment;
  if (media.kind === 'url') return { type: 'resource_link', uri: media.url, name, mimeType };
  if (type === 'image' || type === 'audio') return { type, data: media.base64, mimeType };
  const uri = `agent:${encodeURIComponent(name)}`;
  return { type: 'resource', resource: { uri, blob: media.base64, mimeType } };
}
