// Files of the person as attachments of a call: text where a file is text, else base64.

import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type Attachment, FabricError } from '@starloom/core';
import { mediaTypeOf } from './media-types.ts';

/** Of all files together; a gateway may take less (`limits.body_bytes`). */
export const MAX_BYTES = 32 * 1024 * 1024;

export async function readAttachments(
  files: readonly string[],
  cwd: string,
): Promise<Attachment[]> {
  const attachments: Attachment[] = [];
  let left = MAX_BYTES;
  for (const file of files) {
    const bytes = await readBounded(file, cwd, left);
    left -= bytes.length;
    attachments.push(toAttachment(basename(file), bytes));
  }
  return attachments;
}

export function toAttachment(name: string, bytes: Buffer): Attachment {
  const media_type = mediaTypeOf(name);
  const text = media_type === undefined || isTextType(media_type) ? textIn(bytes) : undefined;
  if (text !== undefined) return { name, media_type: media_type ?? 'text/plain', text };
  const data = bytes.toString('base64');
  return { name, media_type: media_type ?? 'application/octet-stream', data };
}

function isTextType(type: string): boolean {
  return /^text\/|[/+](?:json|jsonl|xml|yaml|toml|sql)$/.test(type);
}

/** `undefined` when the bytes are not UTF-8, or have a zero among them. */
function textIn(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

async function readBounded(file: string, cwd: string, most: number): Promise<Buffer> {
  try {
    await using handle = await open(resolve(cwd, file), 'r');
    const { size } = await handle.stat();
    if (size > most) throw tooLarge(file);
    const bytes = await handle.readFile();
    if (bytes.length > most) throw tooLarge(file);
    return bytes;
  } catch (error) {
    if (FabricError.is(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new FabricError('BAD_INPUT', `Cannot read the attachment ${file} (${code})`, {
      details: { reason: 'attachment_unreadable', file, fix: 'name a file that you may read' },
      cause: error,
    });
  }
}

function tooLarge(file: string): FabricError {
  const limit = `${MAX_BYTES / 1024 / 1024} MiB`;
  return new FabricError('BAD_INPUT', `The attachments are too large: ${file} exceeds ${limit}`, {
    details: { reason: 'attachment_too_large', file, fix: 'attach less, or give the agent a link' },
  });
}
