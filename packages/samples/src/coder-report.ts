// What the coder can say of a source without running it. Guesses, not grammars: comments and strings
// are masked, functions are found by the look of a line, and they last as long as what follows is
// indented further. One pass over lines of a bounded length, so that no source takes long.

import { z } from 'zod';
import { several } from './text.ts';

const count = z.int().nonnegative();

const functionSchema = z.object({
  name: z.string(),
  line: z.int().positive(),
  lines: count,
  /** Places where it may go one way or another. */
  branches: count,
  /** How deep blocks nest in it. */
  depth: count,
});

export const reportSchema = z.object({
  language: z.string(),
  lines: z.object({ total: count, code: count, comment: count, blank: count }),
  imports: z.array(z.string()),
  functions: z.object({ total: count, list: z.array(functionSchema) }),
  longest: functionSchema.nullable(),
  todos: z.array(z.object({ line: z.int().positive(), text: z.string() })),
  hints: z.array(z.string()),
});

type SourceReport = z.infer<typeof reportSchema>;
type FoundFunction = z.infer<typeof functionSchema>;

const MAX_LISTED = 100;
const MAX_TEXT = 160;
const LIMITS = { fileLines: 400, functionLines: 60, branches: 10, depth: 4, columns: 120 };

/** `path` helps to guess the language; nothing is read. */
export function reportSource(source: string, path?: string): SourceReport {
  const language = guessLanguage(source, path);
  const text = linesOf(source);
  const code = linesOf(maskSource(source, language));
  const functions = findFunctions(code, language);
  const [first = null, ...others] = functions;
  return {
    language: language.name,
    lines: countLines(text, code),
    imports: text
      .map((line) => line.slice(0, MAX_TEXT))
      .filter((line) => language.imports.test(line))
      .slice(0, MAX_LISTED)
      .map((line) => line.trim()),
    functions: { total: functions.length, list: functions.slice(0, MAX_LISTED) },
    longest: others.reduce((a, b) => (a !== null && b.lines > a.lines ? b : a), first),
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

const MAX_HEAD = 500;
const BRANCH = /\b(?:if|elif|for|while|case|catch|except|match)\b|&&|\|\||\?\?|\?(?![.:?,)])/g;
/** Such a line belongs to the lines above it, however far left it stands. */
const CONTINUES = /^\s*[)\]}{]/;

function findFunctions(code: readonly string[], { functions }: Language): FoundFunction[] {
  const indents = code.map((line) => line.replaceAll('\t', '    ').search(/\S/));
  const unit = indents.filter((indent) => indent > 0).reduce((a, b) => Math.min(a, b), 8);
  const found: FoundFunction[] = [];
  const open: { readonly indent: number; readonly it: FoundFunction }[] = [];
  for (const [index, text] of code.entries()) {
    const indent = indents[index] ?? -1;
    if (indent === -1) continue;
    const isOver = (above: number) => indent < above || (indent === above && !CONTINUES.test(text));
    while (open.length > 0 && isOver(open.at(-1)?.indent ?? 0)) open.pop();
    const head = text.slice(0, MAX_HEAD);
    const name = functions.map((pattern) => pattern.exec(head)?.[1]).find(Boolean);
    if (name !== undefined) {
      while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
      const it = { name, line: index + 1, lines: 1, branches: 0, depth: 0 };
      found.push(it);
      open.push({ indent, it });
    }
    const branches = text.match(BRANCH)?.length ?? 0;
    for (const { indent: outer, it } of open) {
      it.lines = index + 2 - it.line;
      it.branches += branches;
      it.depth = Math.max(it.depth, Math.ceil((indent - outer) / unit) - 1);
    }
  }
  return found;
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

function toHints(text: readonly string[], functions: readonly FoundFunction[]): string[] {
  const wide = text.filter((line) => line.length > LIMITS.columns).length;
  return [
    ...(text.length > LIMITS.fileLines ? [`${text.length} lines: what else does it do?`] : []),
    ...functions
      .slice(0, MAX_LISTED)
      .flatMap(({ name, lines, branches, depth }) => [
        ...(lines > LIMITS.functionLines ? [`${name} is ${lines} lines long: split it`] : []),
        ...(branches > LIMITS.branches
          ? [`${name} branches ${branches} times: name the cases`]
          : []),
        ...(depth > LIMITS.depth ? [`${name} nests ${depth} blocks deep: return early`] : []),
      ]),
    ...(wide > 0 ? [`${several(wide, 'line')} longer than ${LIMITS.columns} columns`] : []),
  ];
}

const MAX_HINTS = 5;

/** The report in a few sentences. */
export function describeReport(report: SourceReport, path = 'The source'): string {
  const { language, lines, functions, imports, longest, todos, hints } = report;
  const kind = language === 'unknown' ? 'no language I know' : language;
  const parts = `${lines.code} code, ${lines.comment} comment, ${lines.blank} blank`;
  const counts = `${several(functions.total, 'function')}, ${several(imports.length, 'import')}.`;
  const [todo] = todos;
  return [
    `${path}: ${several(lines.total, 'line')} of ${kind} (${parts}).`,
    longest
      ? `${counts} The longest function is ${longest.name}, line ${longest.line}: ${several(longest.lines, 'line')}.`
      : counts,
    ...(todo ? [`${todos.length} left to do; the first, line ${todo.line}: ${todo.text}`] : []),
    hints.length === 0
      ? 'Nothing looks hard to follow.'
      : `Hints: ${hints.slice(0, MAX_HINTS).join('; ')}.`,
  ].join('\n');
}

interface Language {
  readonly name: string;
  readonly endings: readonly string[];
  readonly lineComment: string;
  readonly blockComment?: readonly [open: string, close: string];
  /** Longer ones first. */
  readonly quotes: readonly string[];
  /** Each finds the name of a function in the line that it begins with. */
  readonly functions: readonly RegExp[];
  readonly imports: RegExp;
  /** By which the text itself gives the language away. */
  readonly signs: RegExp;
}

const C_COMMENTS = { lineComment: '//', blockComment: ['/*', '*/'] } as const;
const MODIFIER =
  '(?:public|private|protected|internal|static|final|abstract|override|readonly|async|get|set)\\s+';
const NO_KEYWORD = '(?!(?:if|for|while|switch|catch|return|function|await|new|synchronized)\\b)';

const SCRIPT = {
  ...C_COMMENTS,
  quotes: ['`', '"', "'"],
  functions: [
    /\bfunction\b\s*\*?\s*([\w$]+)/,
    /([#\w$]+)\s*(?::[^=]+)?=\s[^;]*=>\s*[{(]?\s*$/,
    // A method; on several lines only with a modifier, since a call looks the same.
    new RegExp(`^\\s*(?:${MODIFIER})*\\*?\\s*${NO_KEYWORD}([#\\w$]+)\\((?!.*=>).*\\{\\s*\\}?$`),
    new RegExp(`^\\s*(?:${MODIFIER})+\\*?\\s*${NO_KEYWORD}([#\\w$]+)\\($`),
  ],
  imports: /^\s*(?:import\b|export\b.*\bfrom\b|.*\brequire\()/,
};

export const LANGUAGES: readonly Language[] = [
  {
    ...SCRIPT,
    name: 'TypeScript',
    endings: ['.ts', '.tsx', '.mts', '.cts'],
    signs: /\binterface \w+ \{|\bimport type\b|: (?:string|number|boolean|unknown)\b/,
  },
  {
    ...SCRIPT,
    name: 'JavaScript',
    endings: ['.js', '.jsx', '.mjs', '.cjs'],
    signs: /\b(?:const|let|var) \w+ =|=> |\bfunction\b|\brequire\(/,
  },
  {
    name: 'Python',
    endings: ['.py', '.pyi'],
    lineComment: '#',
    quotes: ['"""', "'''", '"', "'"],
    functions: [/^\s*(?:async\s+)?def\s+(\w+)/],
    imports: /^\s*(?:import|from)\s/,
    signs: /^ *def \w+\(|^from \S+ import\b/m,
  },
  {
    ...C_COMMENTS,
    name: 'Go',
    endings: ['.go'],
    quotes: ['`', '"', "'"],
    functions: [/^func\s+(?:\([^)]*\)\s*)?(\w+)/],
    imports: /^import\b|^\t(?:[\w.]+ )?"[\w./-]+"$/,
    signs: /^package \w+$/m,
  },
  {
    ...C_COMMENTS,
    name: 'Rust',
    endings: ['.rs'],
    quotes: ['"'],
    functions: [/\bfn\s+(\w+)/],
    imports: /^\s*(?:pub )?(?:use|extern crate)\s/,
    signs: /\bfn \w+|\blet mut\b|^use \w+::/m,
  },
  {
    ...C_COMMENTS,
    name: 'Java',
    endings: ['.java', '.cs', '.kt'],
    quotes: ['"""', '"', "'"],
    functions: [/\bfun\s+(\w+)/, new RegExp(`^\\s*(?:${MODIFIER})+[^(;=]*?\\b(\\w+)\\s*\\([^;]*$`)],
    imports: /^\s*(?:import|using)\s/,
    signs: /\bpublic (?:static |final |abstract )*(?:class|void|interface)\b/,
  },
];

const UNKNOWN_LANGUAGE: Language = {
  name: 'unknown',
  endings: [],
  lineComment: '#',
  quotes: [],
  functions: [],
  imports: /(?!)/,
  signs: /(?!)/,
};

/** By the ending of its name, else by the look of it. */
export function guessLanguage(source: string, path = ''): Language {
  const byName = LANGUAGES.find(({ endings }) => endings.some((ending) => path.endsWith(ending)));
  return byName ?? LANGUAGES.find(({ signs }) => signs.test(source)) ?? UNKNOWN_LANGUAGE;
}

/** The source with every character in its place, but comments blank and strings filled in. */
export function maskSource(source: string, language: Language): string {
  const { lineComment, blockComment = ['', ''], quotes } = language;
  const [open, close] = blockComment;
  let masked = '';
  let at = 0;
  const take = (end: number, filler: string) => {
    masked += source.slice(at, end).replace(/\S/g, filler);
    at = end;
  };
  while (at < source.length) {
    const quote = quotes.find((mark) => source.startsWith(mark, at));
    if (quote !== undefined) take(endOfString(source, at + quote.length, quote), '_');
    else if (source.startsWith(lineComment, at)) take(endOf(source, '\n', at, 0), ' ');
    else if (open !== '' && source.startsWith(open, at)) {
      take(endOf(source, close, at + open.length, close.length), ' ');
    } else {
      masked += source[at];
      at += 1;
    }
  }
  return masked;
}

/** A string in single or double quotes ends with its line, whatever is in it. */
function endOfString(source: string, start: number, quote: string): number {
  const isOneLine = quote === '"' || quote === "'";
  for (let at = start; at < source.length; at += 1) {
    if (source.startsWith(quote, at)) return at + quote.length;
    if (source[at] === '\n' && isOneLine) return at;
    if (source[at] === '\\') at += 1;
  }
  return source.length;
}

function endOf(source: string, mark: string, from: number, length: number): number {
  const found = source.indexOf(mark, from);
  return found === -1 ? source.length : found + length;
}
