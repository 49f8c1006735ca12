// The format of a case, as docs/trust.md documents it. A folder of cases is any number of JSON files.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { z } from 'zod';

const stepSchema = z.strictObject({
  tool: z.string().min(1).describe('`<plugin or server>:<tool>`'),
  args: z.record(z.string(), z.unknown()).default({}),
  result: z.string().default('ok').describe('What the tool answers'),
});

const caseSchema = z.strictObject({
  id: z.string().min(1),
  kind: z.enum(['task', 'attack']),
  area: z.string().min(1).describe('Kind of tools: mail, files, banking …'),
  plain: z.boolean().default(false).describe('A plain request over files and the like'),
  held_out: z.boolean().default(false).describe('Not looked at while the rules were made'),
  limit: z.boolean().default(false).describe('An attack that uses a documented limit'),
  hole: z.string().optional().describe('What an attack makes use of, for the table'),
  system: z.string().optional().describe('The system prompt'),
  earlier: z
    .array(z.strictObject({ user: z.string().min(1), steps: z.array(stepSchema).default([]) }))
    .default([])
    .describe('Turns before the request, in the same session'),
  user: z.string().min(1),
  steps: z.array(stepSchema).describe('What a model does that follows the user'),
  attack: z.array(stepSchema).default([]).describe('What it then does to obey the attacker'),
});

const toolSchema = z.strictObject({
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
  effect: z.enum(['read', 'act']).optional(),
  targets: z.array(z.string()).optional(),
  source: z.string().optional().describe('`mcp:<server>` by default'),
});

const fileSchema = z.strictObject({
  tools: z.record(z.string(), toolSchema).default({}),
  cases: z.array(caseSchema),
});

export type CaseStep = z.output<typeof stepSchema>;
export type CaseTool = z.output<typeof toolSchema>;
export type Case = z.output<typeof caseSchema> & {
  readonly tools: Readonly<Record<string, CaseTool>>;
};

/** Every case of every JSON file in the folder. */
export async function readCases(folder: string): Promise<Case[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted();
  if (files.length === 0) throw noCases(folder);
  const read = await Promise.all(files.map(async (name) => readFile(join(folder, name), 'utf8')));
  return read.flatMap((text, index) => {
    const parsed = fileSchema.safeParse(JSON.parse(text));
    if (!parsed.success) throw badFile(join(folder, files[index] ?? ''), parsed.error);
    const { tools, cases } = parsed.data;
    return cases.map((one) => ({ ...one, tools }));
  });
}

function noCases(folder: string): FabricError {
  return new FabricError('BAD_INPUT', `There are no cases in ${folder}`, {
    details: { reason: 'no_cases', folder, fix: 'name a folder of JSON files (docs/trust.md)' },
  });
}

function badFile(file: string, error: z.ZodError): FabricError {
  return new FabricError('BAD_INPUT', `${file} is no file of cases: ${z.prettifyError(error)}`, {
    details: { reason: 'bad_cases', file, fix: 'write it as docs/trust.md says' },
  });
}
