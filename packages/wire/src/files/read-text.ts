import type { Stats } from 'node:fs';
import { FabricError } from '@starloom/core';
import { openFile } from './open-file.ts';
import type { Roots } from './roots.ts';

export interface TextFile {
  readonly path: string;
  readonly text: string;
  readonly stats: Stats;
}

/** A whole text file; BAD_INPUT when it is larger than `maxBytes` or no text. */
export async function readText(roots: Roots, given: string, maxBytes: number): Promise<TextFile> {
  const { handle, path, stats } = await openFile(roots, given);
  try {
    if (stats.size > maxBytes) throw tooLarge(given, stats.size, maxBytes);
    const bytes = Buffer.allocUnsafe(maxBytes + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read) {
      ({ bytesRead: read } = await handle.read(bytes, length, bytes.length - length, length));
    }
    if (length > maxBytes) throw tooLarge(given, length, maxBytes);
    return { path, text: decode(bytes.subarray(0, length), given), stats };
  } finally {
    await handle.close();
  }
}

/** A byte order mark stays: what is read and written back must be the same file. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array, path: string): string {
  try {
    if (!bytes.includes(0)) return utf8.decode(bytes);
  } catch {}
  throw new FabricError('BAD_INPUT', 'The file is not text', {
    details: { reason: 'binary', path, fix: 'name a text file in UTF-8' },
  });
}

function tooLarge(path: string, bytes: number, limit: number): FabricError {
  return new FabricError('BAD_INPUT', `The file is larger than ${limit} bytes`, {
    details: {
      reason: 'file_too_large',
      path,
      bytes,
      limit,
      fix: 'read a part of it with first_line and lines, or raise max_bytes of the fs plugin',
    },
  });
}
