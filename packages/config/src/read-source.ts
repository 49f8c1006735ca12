import { readFile, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { parseJson } from './parse-json.ts';
import { configError, inFileOrder } from './problem.ts';
import type { Source } from './source.ts';

/** `jsonc` is JSON with comments and commas behind the last entry. */
export type ConfigFormat = 'yaml' | 'json' | 'jsonc' | 'toml';

export interface ReadSourceOptions {
  readonly cwd: string;
  readonly format?: ConfigFormat;
  readonly missingFix?: string;
}

const MAX_BYTES = 4 * 1024 * 1024;

export const NO_SOURCE: Source = { value: undefined, positions: new Map(), problems: [] };

/** The file, parsed; throws when it cannot be read or its syntax is bad. */
export async function readSource(file: string, options: ReadSourceOptions): Promise<Source> {
  const { cwd, format = formatOf(file), missingFix = 'create it or pass --config' } = options;
  const read = await readTextFile(resolve(cwd, file), MAX_BYTES);
  if (!read.ok) {
    const fix = read.missing ? missingFix : 'name a readable text file';
    throw configError([{ file, key: '', message: `${read.reason}; ${fix}`, fix }]);
  }
  return parseSource(read.text, file, format);
}

/** A text that came from elsewhere, by the same rules; `file` names it in errors. */
export async function parseSource(text: string, file: string, format: ConfigFormat) {
  const parse = await PARSERS[format]();
  const source = parse(text, file);
  if (source.problems.length > 0) throw configError(inFileOrder(source.problems));
  return source;
}

/** Loaded when there is such a file: most commands read one kind only. */
const PARSERS: Record<ConfigFormat, () => Promise<(text: string, file: string) => Source>> = {
  yaml: async () => (await import('./parse-yaml.ts')).parseYaml,
  json: async () => parseJson,
  jsonc: async () => (await import('./parse-json.ts')).parseJsonc,
  toml: async () => (await import('./parse-toml.ts')).parseToml,
};

const FORMATS: Readonly<Record<string, ConfigFormat>> = {
  '.yaml': 'yaml',
  '.yml': 'yaml',
  '.json': 'json',
  '.toml': 'toml',
};

function formatOf(file: string): ConfigFormat {
  const format = FORMATS[extname(file).toLowerCase()];
  if (format !== undefined) return format;
  const fix = 'name the file .yaml, .json or .toml';
  throw configError([{ file, key: '', message: 'the kind of file is not known', fix }]);
}

export type TextFile =
  | { readonly ok: true; readonly text: string; readonly mode: number }
  | { readonly ok: false; readonly reason: string; readonly missing: boolean };

/** A whole regular file as text, or why not. Anything that could block or grow is refused. */
export async function readTextFile(path: string, maxBytes: number): Promise<TextFile> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) return refusal('it is a directory');
    if (!stats.isFile()) return refusal('it is not a regular file');
    if (stats.size > maxBytes) return refusal(`it is larger than ${maxBytes} bytes`);
    const bytes = await readFile(path);
    if (bytes.length > maxBytes) return refusal(`it is larger than ${maxBytes} bytes`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { ok: true, text, mode: stats.mode };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    return refusal(
      missing ? 'no such file' : (REASONS[code] ?? `it cannot be read (${code})`),
      missing,
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text',
};

function refusal(reason: string, missing = false): TextFile {
  return { ok: false, reason, missing };
}
