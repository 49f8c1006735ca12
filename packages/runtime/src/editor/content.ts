// What editors and agents say to each other: content blocks of the Agent Client Protocol on one side,
// segments on the other.

import type { ContentBlock, EmbeddedResource } from '@agentclientprotocol/sdk';
import type { ContentSegment } from '@starloom/sdk';
import { parseMedia } from '../core/media.ts';

/** What a person wrote, with what they attached. */
export function toSegments(prompt: readonly ContentBlock[]): ContentSegment[] {
  return prompt.map(toSegment);
}

/** For the editor to show; `undefined` for what is no content, such as a call. */
export function toContentBlock(segment: ContentSegment): ContentBlock | undefined {
  const { type, text } = segment;
  switch (type) {
    case 'text':
    case 'reasoning':
      return { type: 'text', text: text ?? '' };
    case 'image':
    case 'audio':
    case 'video': {
      if (segment.data === undefined) return undefined;
      const media = parseMedia(segment);
      const { mimeType } = media;
      if (media.kind === 'url') return { type: 'resource_link', uri: media.url, name: media.url };
      if (type === 'video') return { type: 'text', text: `[${mimeType}]` };
      return { type, data: media.base64, mimeType };
    }
    case 'ui':
      return { type: 'text', text: JSON.stringify(segment.ui) ?? '' };
    default:
      return undefined;
  }
}

function toSegment(block: ContentBlock): ContentSegment {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'audio':
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    case 'resource_link':
      return { type: 'text', text: `[${block.title ?? block.name}](${block.uri})` };
    case 'resource':
      return fromAttachment(block);
  }
}

/** A file that the person attached: pictures and sounds as such, words between marks. */
function fromAttachment({ resource }: EmbeddedResource): ContentSegment {
  const { uri, mimeType } = resource;
  const of = { ...(mimeType && { mimeType }) };
  if ('text' in resource) {
    return { type: 'text', text: `<file uri=${JSON.stringify(uri)}>\n${resource.text}\n</file>` };
  }
  const kind = mimeType?.split('/', 1)[0];
  if (kind === 'image' || kind === 'audio') return { type: kind, data: resource.blob, ...of };
  return { type: 'text', text: `[${uri} (${mimeType ?? 'binary'}) cannot be read as text]` };
}
