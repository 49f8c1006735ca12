import { readFile, stat } from 'node:fs/promises';

export type TextFile =
  | { readonly ok: true; readonly text: string; readonly mode: number }
  | { readonly ok: false; readonly reason: string; readonly missing: boolean };

/** A whole regular file as text, or why not. Anything that could block or grow is refused. */
export async function readTextFile(path: string, maxBytes: number): Promise<TextFile> {
  try {
    const { mode, size, ...stats } = await statFile(path);
    if (stats.isDirectory) return refusal('it is a directory');
    if (!stats.isFile) return refusal('it is not a regular file');
    if (size > maxBytes) return refusal(`it is larger than ${maxBytes} bytes`);
    const bytes = await readFile(path);
    if (bytes.length > maxBytes) return refusal(`it is larger than ${maxBytes} bytes`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { ok: true, text, mode };
  } catch (error) {
    return toRefusal(error);
  }
}

async function statFile(path: string) {
  const stats = await stat(path);
  const { mode, size } = stats;
  return { mode, size, isFile: stats.isFile(), isDirectory: stats.isDirectory() };
}

function toRefusal(error: unknown): TextFile {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { ok: false, reason: 'no such file', missing: true };
    case 'EACCES':
    case 'EPERM':
      return refusal('this user may not read it');
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return refusal('it is not UTF-8 text');
    default:
      return refusal(`it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

function refusal(reason: string): TextFile {
  return { ok: false, reason, missing: false };
}
