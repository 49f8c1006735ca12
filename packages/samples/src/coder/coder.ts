// The coder reports on a source: how long it is, what it is made of, where it is hard to follow.
// It reads files of one folder only, and says so with a tool call like any agent that uses tools.

import { type EventBody, FabricError } from '@starloom/core';
import { z } from 'zod';
import type { SampleAgent } from '../agent.ts';
import { final, progress, speak } from '../events.ts';
import { describeReport } from './describe-report.ts';
import { MAX_SOURCE_BYTES, readSource } from './read-source.ts';
import { reportSchema, reportSource } from './report-source.ts';

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
  if (task === undefined || task.trim() === '') throw nothingToRead();
  const named = /(?:^|\s)["'`]?([\w./@-]+\.[A-Za-z]{1,4})["'`]?[.?!]?$/.exec(task.trim())?.[1];
  return named !== undefined && !task.trim().includes('\n') ? { path: named } : { source: task };
}

function nothingToRead(): FabricError {
  return new FabricError('BAD_INPUT', 'There is nothing to report on', {
    details: { reason: 'no_source', fix: 'give "path" or "source"' },
  });
}
