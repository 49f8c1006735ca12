// What the coder knows of languages: how they write comments and strings, how a block is marked,
// and by what its head gives a function or an import away. Guesses, not grammars.

export interface Language {
  readonly name: string;
  readonly endings: readonly string[];
  readonly lineComment: string;
  readonly blockComment?: readonly [open: string, close: string];
  /** Longer ones first. */
  readonly quotes: readonly string[];
  readonly blocks: 'braces' | 'indent';
  /** Each finds the name of a function in the text that stands before its block. */
  readonly functions: readonly RegExp[];
  /** Of one line. */
  readonly imports: RegExp;
  /** By which the text itself gives the language away. */
  readonly signs: RegExp;
}

const C_COMMENTS = { lineComment: '//', blockComment: ['/*', '*/'] } as const;
const MODIFIERS =
  '(?:(?:public|private|protected|internal|static|final|abstract|override|readonly|async|get|set)\\s+)*';
const KEYWORDS = '(?!(?:if|for|while|switch|catch|return|function|await|new|synchronized)\\b)';

const SCRIPT = {
  ...C_COMMENTS,
  quotes: ['`', '"', "'"],
  blocks: 'braces',
  functions: [
    /\bfunction\b\s*\*?\s*([\w$]+)/,
    /([#\w$]+)\s*(?::[^=]+)?=\s[^;]*=>\s*$/,
    /^([\w$]+)\s*:\s[^;]*=>\s*$/,
    new RegExp(`^${MODIFIERS}\\*?\\s*${KEYWORDS}([#\\w$]+|\\[[\\w.]+\\])\\s*(?:<[^(]*>)?\\(`),
  ],
  imports: /^\s*(?:import\b|export\b.*\bfrom\b|.*\brequire\()/,
} as const;

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
    blocks: 'indent',
    functions: [/^\s*(?:async\s+)?def\s+(\w+)/],
    imports: /^\s*(?:import|from)\s/,
    signs: /^ *def \w+\(|^from \S+ import\b/m,
  },
  {
    ...C_COMMENTS,
    name: 'Go',
    endings: ['.go'],
    quotes: ['`', '"', "'"],
    blocks: 'braces',
    functions: [/^func\s+(?:\([^)]*\)\s*)?(\w+)/],
    imports: /^import\b|^\t(?:[\w.]+ )?"[\w./-]+"$/,
    signs: /^package \w+$/m,
  },
  {
    ...C_COMMENTS,
    name: 'Rust',
    endings: ['.rs'],
    quotes: ['"'],
    blocks: 'braces',
    functions: [/\bfn\s+(\w+)/],
    imports: /^\s*(?:pub )?(?:use|extern crate)\s/,
    signs: /\bfn \w+|\blet mut\b|^use \w+::/m,
  },
  {
    ...C_COMMENTS,
    name: 'Java',
    endings: ['.java', '.cs', '.kt'],
    quotes: ['"""', '"', "'"],
    blocks: 'braces',
    functions: [
      /\bfun\s+(\w+)/,
      new RegExp(`^${MODIFIERS}[\\w<>[\\], ?.]*?${KEYWORDS}\\b(\\w+)\\s*\\(`),
    ],
    imports: /^\s*(?:import|using)\s/,
    signs: /\bpublic (?:static |final |abstract )*(?:class|void|interface)\b/,
  },
];

export const UNKNOWN_LANGUAGE: Language = {
  name: 'unknown',
  endings: [],
  lineComment: '#',
  quotes: [],
  blocks: 'braces',
  functions: [],
  imports: /(?!)/,
  signs: /(?!)/,
};

/** By the ending of its name, else by the look of it. */
export function guessLanguage(source: string, path = ''): Language {
  const byName = LANGUAGES.find(({ endings }) => endings.some((ending) => path.endsWith(ending)));
  return byName ?? LANGUAGES.find(({ signs }) => signs.test(source)) ?? UNKNOWN_LANGUAGE;
}
