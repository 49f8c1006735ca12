// What the coder can say of a source without running it.

import { z } from 'zod';
import { several } from '../text/several.ts';
import { findFunctions } from './find-functions.ts';
import { guessLanguage, type Language } from './language.ts';
import { maskSource } from './mask-source.ts';
import {
  findLongest,
  functionSchema,
  type MeasuredFunction,
  measureFunctions,
} from './measure-functions.ts';

const count = z.int().nonnegative();

export const reportSchema = z.object({
  language: z.string(),
  lines: z.object({ total: count, code: count, comment: count, blank: count }),
  imports: z.array(z.string()),
  functions: z.object({ total: count, list: z.array(functionSchema) }),
  longest: functionSchema.nullable(),
  todos: z.array(z.object({ line: z.int().positive(), text: z.string() })),
  hints: z.array(z.string()),
});

export type SourceReport = z.infer<typeof reportSchema>;

const MAX_LISTED = 100;
const MAX_TEXT = 160;
const LIMITS = { fileLines: 400, functionLines: 60, branches: 10, depth: 4, columns: 120 };

/** `path` helps to guess the language; nothing is read. */
export function reportSource(source: string, path?: string): SourceReport {
  const language = guessLanguage(source, path);
  const masked = maskSource(source, language);
  const text = linesOf(source);
  const code = linesOf(masked);
  const functions = measureFunctions(findFunctions(masked, language), code);
  return {
    language: language.name,
    lines: countLines(text, code),
    imports: findImports(text, language),
    functions: { total: functions.length, list: functions.slice(0, MAX_LISTED) },
    longest: findLongest(functions),
    todos: findTodos(text, code),
    hints: toHints(text, functions),
  };
}

/** The end of the last line begins no line of its own. */
function linesOf(source: string): string[] {
  return source === '' ? [] : source.replace(/\n$/, '').split('\n');
}

function countLines(text: readonly string[], code: readonly string[]): SourceReport['lines'] {
  const blank = text.filter((line) => line.trim() === '').length;
  const withCode = code.filter((line) => line.trim() !== '').length;
  const total = text.length;
  return { total, code: withCode, comment: total - withCode - blank, blank };
}

function findImports(text: readonly string[], { imports }: Language): string[] {
  const short = text.map((line) => line.slice(0, MAX_TEXT));
  const found = short.filter((line) => imports.test(line));
  return found.slice(0, MAX_LISTED).map((line) => line.trim());
}

/** Where the masked line is blank and the text is not, there is a comment. */
function findTodos(text: readonly string[], code: readonly string[]): SourceReport['todos'] {
  return text
    .flatMap((line, index) => {
      const match = /\b(?:TODO|FIXME|HACK|XXX)\b/.exec(line);
      if (!match || code[index]?.[match.index] !== ' ') return [];
      return { line: index + 1, text: line.slice(match.index, match.index + MAX_TEXT).trim() };
    })
    .slice(0, MAX_LISTED);
}

function toHints(text: readonly string[], functions: readonly MeasuredFunction[]): string[] {
  const wide = text.filter((line) => line.length > LIMITS.columns).length;
  return [
    ...(text.length > LIMITS.fileLines ? [`${text.length} lines: what else does it do?`] : []),
    ...functions.slice(0, MAX_LISTED).flatMap(hintsOn),
    ...(wide > 0 ? [`${several(wide, 'line')} longer than ${LIMITS.columns} columns`] : []),
  ];
}

function hintsOn({ name, lines, branches, depth }: MeasuredFunction): string[] {
  return [
    ...(lines > LIMITS.functionLines ? [`${name} is ${lines} lines long: split it`] : []),
    ...(branches > LIMITS.branches ? [`${name} branches ${branches} times: name the cases`] : []),
    ...(depth > LIMITS.depth ? [`${name} nests ${depth} blocks deep: return early`] : []),
  ];
}
