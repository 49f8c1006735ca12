import { isAbsolute } from 'node:path';
import { z } from 'zod';

/** A commit, branch, tag or range. Never an option: it does not begin with a dash. */
export const revisionSchema = z
  .string()
  .max(500)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  .regex(/^[^-\s\0-\x1f][^\s\0-\x1f]*$/, 'expected a revision such as HEAD~1, main or a..b');

const pathSchema = z
  .string()
  .min(1)
  .refine((path) => !isAbsolute(path) && !path.includes('\0'), 'expected a relative path')
  .refine((path) => !path.split(/[/\\]/).includes('..'), 'expected a path without ".."');

export const pathsSchema = z.array(pathSchema).max(1_000);

/** The end of a command line: what a caller gave, where git reads no options. */
export function operands(revision: string | undefined, paths: readonly string[] = []): string[] {
  return [...(revision === undefined ? [] : ['--end-of-options', revision]), '--', ...paths];
}
