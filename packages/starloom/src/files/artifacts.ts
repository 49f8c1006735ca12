// What agents hand over: shown by name, type and size, and written where that is asked for. Names
// are the agent's; a file never leaves the folder, and none is overwritten unless that is asked for.
// What is made here is for its owner alone, as the answer of a call is.

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Artifact, FabricError } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { toOneLine, toPlainText } from '../terminal-text.ts';
import { endingFor } from './attachments.ts';

interface SaveOptions {
  readonly folder: string;
  readonly cwd: string;
  readonly force: boolean;
}

const NAME = 200;
const URI = 2_000;
const MAX_TRIES = 10_000;

/** `report.md, text/markdown, 1.2 kB`. */
export function artifactLine(artifact: Artifact): string {
  const { id, name, media_type, uri } = artifact;
  const where = isHere(artifact)
    ? sizeOf(bytesOf(artifact).length)
    : `at ${toOneLine(uri ?? '', URI)}`;
  return [toOneLine(name ?? id, NAME), toOneLine(media_type, NAME), where].join(', ');
}

/** Whether the artifact holds its content, not only an address. */
export function isHere({ text, data }: Artifact): boolean {
  return text !== undefined || data !== undefined;
}

/** So that a folder that cannot be written is known before the agent works. */
export async function openFolder({ folder, cwd }: SaveOptions): Promise<void> {
  await orUnwritable(folder, () => mkdir(resolve(cwd, folder), { recursive: true, mode: 0o700 }));
}

/** The paths as a person here writes them; an artifact that is elsewhere has none. */
export async function saveArtifacts(
  artifacts: readonly Artifact[],
  options: SaveOptions,
): Promise<string[]> {
  const written = new Set<string>();
  for (const artifact of artifacts) {
    if (!isHere(artifact)) continue;
    written.add(await save(artifact, options, written));
  }
  return [...written];
}

async function save(
  artifact: Artifact,
  { folder, cwd, force }: SaveOptions,
  written: ReadonlySet<string>,
): Promise<string> {
  const bytes = bytesOf(artifact);
  const wanted = nameOf(artifact);
  for (let number = 1; number <= MAX_TRIES; number += 1) {
    const path = join(folder, number === 1 ? wanted : addNumber(wanted, number));
    if (written.has(path)) continue;
    const target = resolve(cwd, path);
    const isWritten = await orUnwritable(path, async () => {
      if (force) await rm(target, { force: true });
      return await writeNew(target, bytes);
    });
    if (isWritten) return path;
  }
  throw failure('not_writable', { file: join(folder, wanted), errno: 'EEXIST' });
}

/** False when there is a file of that name, or a link. */
export async function writeNew(path: string, content: Buffer | string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function nameOf({ id, name, media_type }: Artifact): string {
  const safe = safeFileName(name ?? id);
  return /\.[^.]{1,16}$/.test(safe) ? safe : safe + endingFor(media_type);
}

function bytesOf({ text, data }: Pick<Artifact, 'text' | 'data'>): Buffer {
  return data === undefined ? Buffer.from(text ?? '', 'utf8') : Buffer.from(data, 'base64');
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const [size, unit] = bytes < 1_000_000 ? [bytes / 1_000, 'kB'] : [bytes / 1_000_000, 'MB'];
  return `${size.toFixed(1)} ${unit}`;
}

export function unwritable(file: string, cause: unknown): FabricError {
  const { code: errno } = cause as NodeJS.ErrnoException;
  return failure('not_writable', { file, errno }, { cause });
}

async function orUnwritable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unwritable(path, error);
  }
}

// What the content of an MCP answer holds beside text: pictures, sound, files and links to them.

const text = z.string();
const mimeType = text.optional();
const resourceSchema = z.object({ uri: text, mimeType, text: mimeType, blob: mimeType });
const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['image', 'audio']), data: text, mimeType: text }),
  z.object({ type: z.literal('resource'), resource: resourceSchema }),
  z.object({ type: z.literal('resource_link'), uri: text, name: text, mimeType }),
]);

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
  const { uri, text, blob, mimeType } = block.resource;
  const media_type = mimeType ?? (text === undefined ? UNKNOWN : 'text/plain');
  const name = uri.split('/').at(-1) || id;
  const held = blob === undefined ? { text: text ?? '' } : { data: blob };
  return { id, name, media_type, ...held };
}

const UNKNOWN = 'application/octet-stream';

/** Names that mean devices on Windows, with any ending. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const MAX_BYTES = 150;

/** A name that stays in its folder and is a plain file everywhere. */
export function safeFileName(name: string): string {
  const oneLine = name
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\r\n\t]+/g, ' ');
  const plain = toPlainText(oneLine)
    .replace(/[\\/:*?"<>|]+/g, '_')
    .replace(/^[. ]+|[. ]+$/g, '');
  const kept = shorten(plain);
  if (kept === '') return 'artifact';
  return DEVICES.test(kept) ? `_${kept}` : kept;
}

function addNumber(name: string, number: number): string {
  const { stem, ending } = split(name);
  return `${stem}-${number}${ending}`;
}

function shorten(name: string): string {
  const { stem, ending } = split(name);
  let kept = stem;
  while (Buffer.byteLength(kept + ending) > MAX_BYTES && kept !== '') {
    kept = [...kept].slice(0, -1).join('');
  }
  return kept + ending;
}

function split(name: string): { stem: string; ending: string } {
  const ending = /(?<=.)\.[^.]{1,16}$/.exec(name)?.[0] ?? '';
  return { stem: name.slice(0, name.length - ending.length), ending };
}
