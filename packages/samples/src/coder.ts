// The coder reports on a source: how long it is, what it is made of, where it is hard to follow.
// It reads files of one folder only, and says so with a tool call like any agent that uses tools.

import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { type EventBody, FabricError } from '@starloom/core';
import { z } from 'zod';
import { final, progress, type SampleAgent, speak } from './agent.ts';
import { describeReport, reportSchema, reportSource } from './coder-report.ts';

export const MAX_SOURCE_BYTES = 524_288;

const inputSchema = z.object({
  path: z.string().min(1).max(4096).optional().describe('A file in the working folder'),
  source: z.string().max(MAX_SOURCE_BYTES).optional().describe('Source text itself'),
  task: z.string().max(MAX_SOURCE_BYTES).optional().describe('One of both, in words or as it is'),
});

type Input = z.infer<typeof inputSchema>;

export function createCoder(folder: string): SampleAgent<Input> {
  return {
    id: 'coder',
    capability: 'code',
    description: 'Reports on a source file: lines, functions, imports, TODOs, complexity',
    input: inputSchema,
    output: reportSchema,

    async *work(input): AsyncGenerator<EventBody> {
      const { path, source: given } = whatToRead(input);
      yield progress(0, path === undefined ? 'Reading the source' : `Reading ${path}`);
      const source = path === undefined ? (given ?? '') : yield* readWithTool(folder, path);

      yield progress(40, 'Looking for functions');
      const report = reportSource(source, path);
      yield progress(80, 'Writing the report');
      const answer = describeReport(report, path);
      yield* speak(answer);

      yield progress(100, 'Done');
      yield final(answer, report);
    },
  };
}

async function* readWithTool(folder: string, path: string): AsyncGenerator<EventBody, string> {
  const call = { id: 'read-1', name: 'read_file', args: { path } };
  yield { type: 'tool_call', data: { ...call, phase: 'start' } };
  const source = await readSource(folder, path);
  const result = { bytes: Buffer.byteLength(source) };
  yield { type: 'tool_call', data: { ...call, phase: 'end', result } };
  return source;
}

/** A task of one line that ends like a file name means that file. */
function whatToRead({ path, source, task }: Input): Pick<Input, 'path' | 'source'> {
  if (path !== undefined) return { path };
  if (source !== undefined) return { source };
  if (task === undefined || task.trim() === '') {
    throw new FabricError('BAD_INPUT', 'There is nothing to report on', {
      details: { reason: 'no_source', fix: 'give "path" or "source"' },
    });
  }
  const named = /(?:^|\s)["'`]?([\w./@-]+\.[A-Za-z]{1,4})["'`]?[.?!]?$/.exec(task.trim())?.[1];
  return named !== undefined && !task.trim().includes('\n') ? { path: named } : { source: task };
}

/**
 * Reads one source file inside a folder and nothing outside it, whatever the path says and wherever a
 * link points: regular files of a bounded size that hold text. Throws BAD_INPUT, with `details.reason`.
 */
export async function readSource(folder: string, path: string): Promise<string> {
  const root = await realpath(folder);
  const wanted = resolve(root, path);
  if (path.includes('\0') || !isInside(root, wanted)) throw refuse('outside_folder', path);
  const real = await realpath(wanted).catch(() => undefined);
  if (real === undefined) throw refuse('not_found', path);
  if (!isInside(root, real)) throw refuse('outside_folder', path);
  return readText(real, path);
}

const FIXES = {
  outside_folder: 'name a file inside the folder the agent was started in',
  not_found: 'name a file that exists',
  not_a_file: 'name a regular file that may be read',
  too_large: `name a file of at most ${MAX_SOURCE_BYTES} bytes`,
  not_text: 'name a file that holds text in UTF-8',
};

/** Not blocking, or a pipe put in the place of the file would hold us up. */
async function readText(real: string, path: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(real, flags).catch(() => undefined);
  if (file === undefined) throw refuse('not_a_file', path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw refuse('not_a_file', path);
    if (stat.size > MAX_SOURCE_BYTES) throw refuse('too_large', path);
    const bytes = await file.readFile();
    if (!isUtf8(bytes) || bytes.includes(0)) throw refuse('not_text', path);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function refuse(reason: keyof typeof FIXES, path: string): FabricError {
  const details = { reason, path: path.slice(0, 200), fix: FIXES[reason] };
  return new FabricError('BAD_INPUT', 'The file is not read', { details });
}
