// What the content of an MCP answer holds beside text: pictures, sound, files and links to them.

import type { Artifact } from '@starloom/core';
import { z } from 'zod';

const binarySchema = z.object({
  type: z.enum(['image', 'audio']),
  data: z.string(),
  mimeType: z.string(),
});
const embeddedSchema = z.object({
  type: z.literal('resource'),
  resource: z.object({
    uri: z.string(),
    mimeType: z.string().optional(),
    text: z.string().optional(),
    blob: z.string().optional(),
  }),
});
const linkSchema = z.object({
  type: z.literal('resource_link'),
  uri: z.string(),
  name: z.string(),
  mimeType: z.string().optional(),
});
const blockSchema = z.union([binarySchema, embeddedSchema, linkSchema]);

/** Blocks that are text, or that we do not know, are passed over. */
export function contentArtifacts(content: readonly unknown[] = []): Artifact[] {
  return content.flatMap((block, index) => {
    const parsed = blockSchema.safeParse(block);
    return parsed.success ? [toArtifact(parsed.data, String(index + 1))] : [];
  });
}

function toArtifact(block: z.infer<typeof blockSchema>, id: string): Artifact {
  if (block.type === 'resource_link') {
    const { name, uri, mimeType = UNKNOWN } = block;
    return { id, name, media_type: mimeType, uri };
  }
  if (block.type !== 'resource') {
    return { id: `${block.type}-${id}`, media_type: block.mimeType, data: block.data };
  }
  const {
    uri,
    text,
    blob,
    mimeType = text === undefined ? UNKNOWN : 'text/plain',
  } = block.resource;
  const name = uri.split('/').at(-1) || id;
  const held = blob === undefined ? { text: text ?? '' } : { data: blob };
  return { id, name, media_type: mimeType, ...held };
}

const UNKNOWN = 'application/octet-stream';
