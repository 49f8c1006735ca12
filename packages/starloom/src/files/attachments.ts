// Files of the person as attachments of a call: text where a file is text, else base64.

import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type Attachment, FabricError } from '@starloom/core';
import { failure } from '../reasons.ts';

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
    const { code: errno } = error as NodeJS.ErrnoException;
    throw failure('attachment_unreadable', { file, errno }, { cause: error });
  }
}

function tooLarge(file: string): FabricError {
  return failure('attachment_too_large', { file, limit: `${MAX_BYTES / 1024 / 1024} MiB` });
}

/** Endings of file names by media type, the usual one first; those that people exchange with agents. */
const ENDINGS: Readonly<Record<string, string>> = {
  'text/plain': 'txt log',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/html': 'html htm',
  'text/css': 'css',
  'application/xml': 'xml',
  'application/json': 'json',
  'application/jsonl': 'jsonl',
  'application/yaml': 'yaml yml',
  'application/toml': 'toml',
  'text/javascript': 'js mjs cjs',
  'text/x-typescript': 'ts',
  'text/x-python': 'py',
  'text/x-go': 'go',
  'text/x-rust': 'rs',
  'text/x-java': 'java',
  'text/x-c': 'c h',
  'text/x-c++': 'cpp',
  'text/x-shellscript': 'sh',
  'application/sql': 'sql',
  'text/x-diff': 'diff patch',
  'image/svg+xml': 'svg',
  'image/png': 'png',
  'image/jpeg': 'jpg jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
};

export function mediaTypeOf(fileName: string): string | undefined {
  const ending = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? '';
  return Object.keys(ENDINGS).find((type) => ENDINGS[type]?.split(' ').includes(ending));
}

/** With its dot; empty for a type that is not known. */
export function endingFor(mediaType: string): string {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  const known = Object.hasOwn(ENDINGS, type) ? ENDINGS[type] : undefined;
  return known === undefined ? '' : `.${known.split(' ', 1)}`;
}
