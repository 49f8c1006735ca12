// The failures we know of and have a reason for, in the suite's own format: `<scenario>` excuses all
// of a scenario, `<scenario>:<check>` one check of it. Unlike the suite, which looks only at what it
// scores, this holds every scenario it ran to the list, and warnings, too.

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Check, ScenarioResult } from './suite.ts';

export interface Verdict {
  /** Failures without an entry, with what the suite says of them. */
  readonly unexpected: readonly string[];
  /** Entries that excuse nothing any more. */
  readonly stale: readonly string[];
}

const baselineSchema = z.strictObject({ server: z.array(z.string()) });

export async function readBaseline(): Promise<readonly string[]> {
  const file = new URL('expected-failures.yml', import.meta.url);
  return baselineSchema.parse(parse(await readFile(file, 'utf8'))).server;
}

export function judge(results: readonly ScenarioResult[], baseline: readonly string[]): Verdict {
  const used = new Set<string>();
  const unexpected: string[] = [];
  for (const { revision, scenario, checks } of results) {
    for (const { id, errorMessage = '' } of checks.filter(isFailed)) {
      const entry = baseline.find((line) => line === scenario || line === `${scenario}:${id}`);
      if (entry !== undefined) used.add(entry);
      else unexpected.push(`${revision} ${scenario}:${id} ${errorMessage}`.trim());
    }
  }
  return { unexpected, stale: baseline.filter((line) => !used.has(line)) };
}

export function isFailed({ status }: Check): boolean {
  return status === 'FAILURE' || status === 'WARNING';
}
