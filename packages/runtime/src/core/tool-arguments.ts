// Arguments of a tool call against the tool's own JSON Schema, which may be foreign: one that cannot
// be used refuses the call. What passes is a frozen copy: what was checked is what runs.

import type { ITool, ToolCall } from '@starloom/sdk';
import { SchemaProblem, SchemaValidators } from '@starloom/wire/foreign-schema';
import { failure } from '../reasons.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** The arguments as the tool may have them, or BAD_INPUT that tells the model what to change. */
export function parseArguments(tool: ITool, { args }: ToolCall): Arguments {
  const parsed = toObject(tool.name, args);
  const problems = judge(tool, () => validators.problems(tool.parameters, parsed, 'arguments'));
  if (problems.length === 0) return freeze(parsed);
  const { name, parameters } = tool;
  throw failure('arguments', { tool: name, problem: problems[0], problems, parameters });
}

/** Refuses a tool whose schema cannot be used, before its first call. */
export function assertUsableSchema(tool: ITool): void {
  judge(tool, () => validators.assertUsable(tool.parameters));
}

const validators = new SchemaValidators();

function judge<T>({ name }: ITool, by: () => T): T {
  try {
    return by();
  } catch (cause) {
    if (!(cause instanceof SchemaProblem)) throw cause;
    throw failure('bad_schema', { tool: name }, { cause });
  }
}

/** A copy; models send `{}`, nothing, or the object as text. */
function toObject(tool: string, args: unknown): Record<string, unknown> {
  try {
    const value = typeof args === 'string' ? JSON.parse(args || '{}') : structuredClone(args ?? {});
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below: what the text was is in the call itself.
  }
  throw failure('unparsable_arguments', { tool });
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
