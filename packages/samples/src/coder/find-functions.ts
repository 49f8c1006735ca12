import { findByBraces } from './find-by-braces.ts';
import { findByIndent } from './find-by-indent.ts';
import type { Language } from './language.ts';

export interface FoundFunction {
  readonly name: string;
  /** Lines count from 0; both belong to the function. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** How deep blocks nest in it. */
  readonly depth: number;
}

/** In order of their first lines. `masked` is a source without comments and strings. */
export function findFunctions(masked: string, language: Language): FoundFunction[] {
  const find = language.blocks === 'indent' ? findByIndent : findByBraces;
  return find(masked, language).sort((a, b) => a.firstLine - b.firstLine);
}
