// The coder reports on a source without running it: its lines, functions, imports and TODOs. It reads
// files of one folder only, and says so with a tool call like any agent that uses tools.

import { type EventBody, FabricError } from '@starloom/core';
import { Roots, readText } from '@starloom/wire/files';
import { z } from 'zod';
import { final, progress, type SampleAgent, speak } from './agent.ts';
import { several } from './text.ts';

export const MAX_SOURCE_BYTES = 524_288;
const MAX_LISTED = 100;
const MAX_LINE = 200;

const inputSchema = z.object({
  path: z.string().min(1).max(4096).optional().describe('A file in the working folder'),
  source: z.string().max(MAX_SOURCE_BYTES).optional().describe('Source text itself'),
  task: z.string().max(MAX_SOURCE_BYTES).optional().describe('One of both, in words or as it is'),
});

type Input = z.infer<typeof inputSchema>;

const count = z.int().nonnegative();
const functionSchema = z.object({ name: z.string(), line: count, lines: count });

export const reportSchema = z.object({
  language: z.string(),
  lines: z.object({ total: count, code: count, comment: count, blank: count }),
  imports: z.array(z.string()),
  functions: z.object({ total: count, list: z.array(functionSchema) }),
  longest: functionSchema.nullable(),
  todos: z.array(z.object({ line: count, text: z.string() })),
});

type SourceReport = z.infer<typeof reportSchema>;

export function createCoder(folder: string): SampleAgent<Input> {
  return {
    id: 'coder',
    capability: 'code',
    description: 'Reports on a source file: lines, functions, imports, TODOs',
    input: inputSchema,
    output: reportSchema,

    async *work(input): AsyncGenerator<EventBody> {
      const { path, source: given = '' } = toSubject(input);
      yield progress(0, path === undefined ? 'Reading the source' : `Reading ${path}`);
      const source = path === undefined ? given : yield* readWithTool(folder, path);
      yield progress(50, 'Writing the report');
      const report = reportSource(source, path);
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
  const { text } = await readText(await Roots.open([folder], '.'), path, MAX_SOURCE_BYTES);
  const result = { bytes: Buffer.byteLength(text) };
  yield { type: 'tool_call', data: { ...call, phase: 'end', result } };
  return text;
}

/** A task of one line that ends like a file name means that file. */
function toSubject({ path, source, task = '' }: Input): Pick<Input, 'path' | 'source'> {
  if (path !== undefined) return { path };
  if (source !== undefined) return { source };
  if (task.trim() === '') {
    throw new FabricError('BAD_INPUT', 'There is nothing to report on', {
      details: { reason: 'no_source', fix: 'give "path" or "source"' },
    });
  }
  const named = /(?:^|\s)["'`]?([\w./@-]+\.[A-Za-z]{1,4})["'`]?[.?!]?$/.exec(task.trim())?.[1];
  return named !== undefined && !task.trim().includes('\n') ? { path: named } : { source: task };
}

type Pattern = 'endings' | 'comment' | 'function' | 'imports';
type Language = Readonly<Record<Pattern, RegExp>> & { readonly name: string };

const SCRIPT = {
  comment: /^\s*(?:\/\/|\/\*|\*)/,
  function:
    /\bfunction\b\s*\*?\s*([\w$]+)|^\s*(?:export )?const ([\w$]+) = .*=>|^\s+(?:(?:async|static|get|set) )*\*?(?!(?:if|for|while|switch|catch)\b)([#\w$]+)\([^;]*\{$/,
  imports: /^\s*(?:import\b|export\b.*\bfrom\b|.*\brequire\()/,
};

/** The last one takes every source that no other does. */
const LANGUAGES: readonly Language[] = [
  { ...SCRIPT, name: 'TypeScript', endings: /\.[mc]?tsx?$/ },
  { ...SCRIPT, name: 'JavaScript', endings: /\.[mc]?jsx?$/ },
  {
    name: 'Python',
    endings: /\.pyi?$/,
    comment: /^\s*#/,
    function: /^\s*(?:async\s+)?def\s+(\w+)/,
    imports: /^\s*(?:import|from)\s/,
  },
  {
    name: 'source',
    endings: /^/,
    comment: /^\s*(?:\/\/|\/\*|\*|#)/,
    function: /\b(?:function|def|func|fun|fn)\s+(?:\([^)]*\)\s*)?(\w+)/,
    imports: /^\s*(?:import|from|use|using|#include)\b/,
  },
];

/** Guesses by the look of single lines. `path` says the language; nothing is read. */
export function reportSource(source: string, path = ''): SourceReport {
  const language = LANGUAGES.find(({ endings }) => endings.test(path)) as Language;
  const lines = source === '' ? [] : source.replace(/\n$/, '').split('\n');
  const shown = lines.map((line) => line.slice(0, MAX_LINE));
  const blank = lines.filter((line) => line.trim() === '').length;
  const comment = shown.filter((line) => language.comment.test(line)).length;
  const functions = findFunctions(shown, language);
  const [first = null, ...others] = functions;
  return {
    language: language.name,
    lines: { total: lines.length, code: lines.length - blank - comment, comment, blank },
    imports: shown.filter((line) => language.imports.test(line)).slice(0, MAX_LISTED),
    functions: { total: functions.length, list: functions.slice(0, MAX_LISTED) },
    longest: others.reduce((a, b) => (a !== null && b.lines > a.lines ? b : a), first),
    todos: shown
      .flatMap((line, index) => {
        const [, text] = /(?:\/\/|#|\*).*?\b((?:TODO|FIXME)\b.*)/.exec(line) ?? [];
        return text === undefined ? [] : { line: index + 1, text };
      })
      .slice(0, MAX_LISTED),
  };
}

/** A function lasts as long as what follows is indented further, or closes a bracket. */
function findFunctions(lines: readonly string[], { function: pattern }: Language) {
  const found: SourceReport['functions']['list'] = [];
  const open: { readonly indent: number; readonly it: (typeof found)[number] }[] = [];
  for (const [index, line] of lines.entries()) {
    const indent = line.search(/\S/);
    if (indent === -1) continue;
    const isInside = (outer: number) =>
      indent > outer || (indent === outer && /^\s*[)\]}]/.test(line));
    while (open.length > 0 && !isInside(open.at(-1)?.indent ?? 0)) open.pop();
    for (const { it } of open) it.lines = index + 2 - it.line;
    const name = pattern.exec(line)?.slice(1).find(Boolean);
    if (name === undefined) continue;
    const it = { name, line: index + 1, lines: 1 };
    found.push(it);
    open.push({ indent, it });
  }
  return found;
}

function describeReport(report: SourceReport, path = 'The source'): string {
  const { language, lines, functions, imports, longest, todos } = report;
  const parts = `${lines.code} code, ${lines.comment} comment, ${lines.blank} blank`;
  const counts = `${several(functions.total, 'function')}, ${several(imports.length, 'import')}.`;
  const [todo] = todos;
  return [
    `${path}: ${several(lines.total, 'line')} of ${language} (${parts}).`,
    longest
      ? `${counts} The longest function is ${longest.name}, line ${longest.line}: ${several(longest.lines, 'line')}.`
      : counts,
    ...(todo ? [`${todos.length} left to do; the first, line ${todo.line}: ${todo.text}`] : []),
  ].join('\n');
}
