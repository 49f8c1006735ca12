import { z } from 'zod';
import type { FoundFunction } from './find-functions.ts';

const count = z.int().nonnegative();

export const functionSchema = z.object({
  name: z.string(),
  line: z.int().positive(),
  lines: count,
  /** Places where it may go one way or another. */
  branches: count,
  depth: count,
});

export type MeasuredFunction = z.infer<typeof functionSchema>;

const BRANCH = /\b(?:if|elif|for|while|case|catch|except|match)\b|&&|\|\||\?\?|\?(?![.:?,)])/g;

/** Branches are summed up line by line once, so that nested functions cost nothing extra. */
export function measureFunctions(
  found: readonly FoundFunction[],
  code: readonly string[],
): MeasuredFunction[] {
  const branchesBefore = [0];
  for (const [index, text] of code.entries()) {
    branchesBefore.push((branchesBefore[index] ?? 0) + (text.match(BRANCH)?.length ?? 0));
  }
  return found.map(({ name, firstLine, lastLine, depth }) => ({
    name,
    line: firstLine + 1,
    lines: lastLine - firstLine + 1,
    branches: (branchesBefore[lastLine + 1] ?? 0) - (branchesBefore[firstLine] ?? 0),
    depth,
  }));
}

export function findLongest(functions: readonly MeasuredFunction[]): MeasuredFunction | null {
  return functions.reduce<MeasuredFunction | null>(
    (longest, each) => (each.lines > (longest?.lines ?? 0) ? each : longest),
    null,
  );
}
