import { FabricError } from '@starloom/core';
import { defineTool, type ITool } from '@starloom/sdk';
import { readLines } from '@starloom/wire';
import { openFile, type Roots, readText } from '@starloom/wire/files';
import { z } from 'zod';
import type { FsTools } from './fs-tools.ts';

const parameters = z.strictObject({
  path: z.string().describe('The file, relative to the root'),
  first_line: z.int().positive().optional().describe('Begin at this line, counted from 1'),
  lines: z.int().positive().optional().describe('How many lines; all by default'),
});

export function readFileTool({ roots, maxBytes }: FsTools): ITool {
  return defineTool({
    name: 'fs:read_file',
    description: 'Reads a text file, whole or a range of its lines.',
    command: 'read',
    effect: 'read',
    parameters,
    async execute({ path, first_line, lines }, { signal }) {
      if (first_line === undefined && lines === undefined) {
        return (await readText(roots, path, maxBytes)).text;
      }
      const range = { first: first_line ?? 1, count: lines ?? Number.POSITIVE_INFINITY };
      return readRange(roots, path, range, maxBytes, signal);
    },
  });
}

/** However large the file is, the range must fit into `maxBytes`. */
async function readRange(
  roots: Roots,
  path: string,
  { first, count }: { readonly first: number; readonly count: number },
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const { handle } = await openFile(roots, path);
  const stream = handle.createReadStream({ signal });
  const kept: string[] = [];
  let number = 0;
  let bytes = 0;
  for await (const line of readLines(stream, { maxLineBytes: maxBytes })) {
    number += 1;
    if (number < first) continue;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) throw tooMuch(path, kept.length, maxBytes);
    kept.push(line);
    if (kept.length >= count) break;
  }
  return kept.map((line) => `${line}\n`).join('');
}

function tooMuch(path: string, fitting: number, limit: number): FabricError {
  return new FabricError('BAD_INPUT', `These lines are more than ${limit} bytes`, {
    details: { reason: 'range_too_large', path, limit, fix: `ask for at most ${fitting} lines` },
  });
}
