// Arguments of a tool call against the tool's own JSON Schema. Schemas may be foreign: compiled once
// each, never fetching a $ref, bounded in size; one that cannot be compiled refuses the call.
// What passes is a frozen copy: what was checked is what runs.

import { FabricError } from '@starloom/core';
import type { ITool, ToolCall } from '@starloom/sdk';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isPlainSchema } from './plain-schema.ts';

const MAX_PROBLEMS = 5;
const MAX_SHOWN_NAME = 100;
const MAX_SCHEMA_CHARACTERS = 262_144;

export type Arguments = Readonly<Record<string, unknown>>;

/** The arguments as the tool may have them, or BAD_INPUT that tells the model what to change. */
export function parseArguments(tool: ITool, { args }: ToolCall): Arguments {
  const parsed = toObject(tool.name, args);
  const validate = compile(tool);
  if (validate(parsed)) return freeze(parsed);
  const problems = (validate.errors ?? []).slice(0, MAX_PROBLEMS).map(toProblem);
  throw new FabricError('BAD_INPUT', `The arguments do not fit ${tool.name}: ${problems[0]}`, {
    details: {
      reason: 'arguments',
      tool: tool.name,
      problems,
      parameters: tool.parameters,
      fix: 'change the arguments to fit the parameters',
    },
  });
}

/** Refuses a tool whose schema cannot be used, before anybody calls it. */
export function assertUsableSchema(tool: ITool): void {
  compile(tool);
}

const ajv = addFormats.default(
  new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: true,
    validateSchema: false,
    logger: false,
  }),
);
const compiled = new WeakMap<object, ValidateFunction>();

function compile({ name, parameters }: ITool): ValidateFunction {
  const known = compiled.get(parameters);
  if (known) return known;
  try {
    if (JSON.stringify(parameters).length > MAX_SCHEMA_CHARACTERS) throw new Error('too large');
    const { $id: _, $schema: __, ...anonymous } = parameters;
    if (!isPlainSchema(anonymous)) ajv.validateSchema(anonymous, true);
    const validate = ajv.compile(anonymous);
    compiled.set(parameters, validate);
    return validate;
  } catch (cause) {
    throw new FabricError('BAD_INPUT', `The parameters of ${name} are no usable JSON Schema`, {
      details: { reason: 'bad_schema', tool: name, fix: 'correct the schema of the tool' },
      cause,
    });
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
  throw new FabricError('BAD_INPUT', `The arguments for ${tool} are not a JSON object`, {
    details: { reason: 'unparsable_arguments', tool, fix: 'send the arguments as a JSON object' },
  });
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

function toProblem({ instancePath, message, params }: ErrorObject): string {
  const where = instancePath === '' ? 'arguments' : instancePath.slice(1).replaceAll('/', '.');
  if ('additionalProperty' in params)
    return `${where} has no property ${quote(params.additionalProperty)}`;
  const allowed = 'allowedValues' in params ? `: ${JSON.stringify(params.allowedValues)}` : '';
  return `${where} ${message}${allowed}`;
}

/** The model made the name up: shown, but not at any length. */
function quote(name: unknown): string {
  return JSON.stringify(String(name).slice(0, MAX_SHOWN_NAME));
}
