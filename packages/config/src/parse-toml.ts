import { parse, TomlError } from 'smol-toml';
import { isMap, type KeyPath, toKey } from './key-path.ts';
import type { Problem } from './problem.ts';
import { type EntryPosition, FORBIDDEN_KEYS, type Source } from './source.ts';
import { tomlPositions } from './toml-positions.ts';

export function parseToml(text: string, file: string): Source {
  try {
    const parsed = parse(text, { maxDepth: MAX_DEPTH });
    const positions = tomlPositions(text);
    const problems: Problem[] = [];
    const value = toPlain(parsed, [], (path) => {
      const message = 'this key is not allowed';
      const place = positions.get(toKey(path))?.key;
      problems.push({ file, ...place, key: toKey(path), message, fix: 'rename or remove it' });
    });
    return { value: isEmpty(value) ? undefined : value, positions, problems };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error;
    return {
      value: undefined,
      positions: NO_POSITIONS,
      problems: [{ file, line, column, ...words(error) }],
    };
  }
}

const MAX_DEPTH = 100;
const NO_POSITIONS: ReadonlyMap<string, EntryPosition> = new Map();

/** Tables as plain objects; `refuse` hears of keys that would reach a prototype. */
function toPlain(value: unknown, path: KeyPath, refuse: (path: KeyPath) => void): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => toPlain(item, [...path, index], refuse));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const plain: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (FORBIDDEN_KEYS.has(key)) refuse([...path, key]);
    else plain[key] = toPlain(item, [...path, key], refuse);
  }
  return plain;
}

function isEmpty(value: unknown): boolean {
  return isMap(value) && Object.keys(value).length === 0;
}

/** The first line of smol-toml's message is fixed text; the lines below it quote the file. */
function words(error: TomlError): Pick<Problem, 'key' | 'message' | 'fix'> {
  const [first = ''] = error.message.split('\n');
  const message = `not valid TOML: ${first.replace(/^Invalid TOML document: /, '')}`;
  return { key: '', message, fix: 'check the quotes, brackets and "=" of this line' };
}
