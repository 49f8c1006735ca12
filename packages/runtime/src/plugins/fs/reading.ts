import type { Dirent, Stats } from 'node:fs';
import { basename } from 'node:path';
import { matchesGlob } from '@starloom/core';
import { defineTool, type ITool, type ToolContext } from '@starloom/sdk';
import { readLines } from '@starloom/wire';
import { fileFailure, openFile, type Roots, readText } from '@starloom/wire/files';
import { z } from 'zod';
import type { EditorAccess } from '../../core/seams.ts';
import { failure } from '../../reasons.ts';
import type { TurnsByKey } from '../turns.ts';
import { walk } from './walk.ts';

/** What the tools of the plugin share. */
export interface FsTools {
  readonly roots: Roots;
  /** Of a file that is read or written. */
  readonly maxBytes: number;
  /** Changes to one file wait for each other. */
  readonly turns: TurnsByKey;
  /** Its files are those of the person, saved or not. */
  readonly editor?: EditorAccess | undefined;
}

const readSchema = z.strictObject({
  path: z.string().describe('The file, relative to the root'),
  first_line: z.int().positive().optional().describe('Begin at this line, counted from 1'),
  lines: z.int().positive().optional().describe('How many lines; all by default'),
});

export function readFileTool(tools: FsTools): ITool {
  const { roots, maxBytes, editor } = tools;
  return defineTool({
    name: 'fs:read_file',
    description: 'Reads a text file, whole or a range of its lines.',
    command: 'read',
    effect: 'read',
    parameters: readSchema,
    async execute({ path, first_line, lines }, context) {
      if (first_line === undefined && lines === undefined) {
        return (await readWhole(tools, path, context)).text;
      }
      const range = { first: first_line ?? 1, count: lines ?? Number.POSITIVE_INFINITY };
      if (!editor?.readFile) return readRange(roots, path, range, maxBytes, context.signal);
      const all = (await readWhole(tools, path, context)).text.split('\n');
      return all.slice(range.first - 1, range.first - 1 + range.count).join('\n');
    },
  });
}

/** As the editor has it, where it says; `stats` are those of the file on disk. */
export async function readWhole(
  { roots, maxBytes, editor }: FsTools,
  given: string,
  context: ToolContext,
): Promise<{ readonly path: string; readonly text: string; readonly stats?: Stats }> {
  if (!editor?.readFile) return await readText(roots, given, maxBytes);
  const path = await roots.locate(given);
  const text = await editor.readFile(path, context);
  assertFits(text, maxBytes);
  return { path, text };
}

export function assertFits(content: string, limit: number): void {
  const bytes = Buffer.byteLength(content);
  if (bytes > limit) throw failure('content_too_large', { bytes, limit });
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
    if (bytes > maxBytes) {
      throw failure('range_too_large', { path, limit: maxBytes, fitting: kept.length });
    }
    kept.push(line);
    if (kept.length >= count) break;
  }
  return kept.map((line) => `${line}\n`).join('');
}

const listSchema = z.strictObject({
  path: z.string().default('.').describe('The folder, relative to the root'),
  depth: z.int().min(1).max(10).default(1).describe('How many levels of folders'),
});

const MAX_LISTED = 1_000;
const LIST_CUT = `(only the first ${MAX_LISTED} are shown; list a folder further down)`;

export function listTool({ roots }: FsTools): ITool {
  return defineTool({
    name: 'fs:list',
    description: 'Lists a folder, one path a line; folders end in "/", links in "@".',
    command: 'list',
    effect: 'read',
    parameters: listSchema,
    async execute({ path, depth }, { signal }) {
      const folder = await roots.locate(path);
      const lines: string[] = [];
      try {
        for await (const found of walk(roots, folder, depth, signal)) {
          if (lines.length >= MAX_LISTED) return [...lines, LIST_CUT].join('\n');
          lines.push(roots.show(found.path) + markOf(found.entry));
        }
      } catch (error) {
        throw fileFailure(error, path);
      }
      return lines.length === 0 ? '(empty)' : lines.join('\n');
    },
  });
}

function markOf(entry: Dirent): string {
  if (entry.isDirectory()) return '/';
  if (entry.isSymbolicLink()) return '@';
  return entry.isFile() ? '' : ' (special)';
}

const searchSchema = z.strictObject({
  text: z.string().min(1).describe('The text to look for, as it stands, within one line'),
  path: z.string().default('.').describe('The folder or file to look in'),
  files: z.string().optional().describe('Only files with such names: * and ? as in *.ts'),
  ignore_case: z.boolean().default(false),
});

const MAX_DEPTH = 40;
const MAX_FOUND = 200;
const SEARCH_CUT = `(only the first ${MAX_FOUND} are shown; look for a longer text)`;
const MAX_SHOWN = 300;

export function searchTool({ roots, maxBytes }: FsTools): ITool {
  return defineTool({
    name: 'fs:search',
    description:
      'Finds a text in files, as path:line: text. Files that are no text are passed over.',
    command: 'search',
    effect: 'read',
    parameters: searchSchema,
    async execute({ text, path, files, ignore_case }, { signal }) {
      const fold = (line: string) => (ignore_case ? line.toLowerCase() : line);
      const wanted = fold(text);
      const found: string[] = [];
      for await (const file of filesIn(roots, await roots.locate(path), path, signal)) {
        if (files && !matchesGlob(files, basename(file))) continue;
        const content = await readText(roots, file, maxBytes).catch(() => undefined);
        if (!content || !fold(content.text).includes(wanted)) continue;
        for (const [index, line] of content.text.split('\n').entries()) {
          if (!fold(line).includes(wanted)) continue;
          if (found.length >= MAX_FOUND) return [...found, SEARCH_CUT].join('\n');
          found.push(`${roots.show(file)}:${index + 1}: ${line.trim().slice(0, MAX_SHOWN)}`);
        }
      }
      return found.length === 0 ? '(nothing found)' : found.join('\n');
    },
  });
}

async function* filesIn(
  roots: Roots,
  path: string,
  given: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    for await (const found of walk(roots, path, MAX_DEPTH, signal)) {
      if (found.entry.isFile()) yield found.path;
    }
  } catch (error) {
    const refusal = fileFailure(error, given);
    if (refusal.details.reason !== 'not_a_folder') throw refusal;
    yield path;
  }
}
