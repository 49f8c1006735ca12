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

/** Media types by the ending of a file name; those that people exchange with agents. */
const TYPES: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  xml: 'application/xml',
  json: 'application/json',
  jsonl: 'application/jsonl',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  js: 'text/javascript',
  mjs: 'text/javascript',
  cjs: 'text/javascript',
  ts: 'text/x-typescript',
  py: 'text/x-python',
  go: 'text/x-go',
  rs: 'text/x-rust',
  java: 'text/x-java',
  c: 'text/x-c',
  h: 'text/x-c',
  cpp: 'text/x-c++',
  sh: 'text/x-shellscript',
  sql: 'application/sql',
  diff: 'text/x-diff',
  patch: 'text/x-diff',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  zip: 'application/zip',
  gz: 'application/gzip',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  webm: 'video/webm',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
};

export function mediaTypeOf(fileName: string): string | undefined {
  const ending = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
}

export function endingFor(mediaType: string): string {
  const type = mediaType.split(';')[0]?.trim().toLowerCase();
  const ending = Object.keys(TYPES).find((each) => TYPES[each] === type);
  return ending === undefined ? '' : `.${ending}`;
}
