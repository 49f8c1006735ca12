// A row of the table of methods. It checks requests, runs them, and documents itself; there is no
// second description of a method anywhere.

import type { JsonObject } from '@starloom/core';
import { z } from 'zod';
import { agentIdSchema, type Caller, sessionIdSchema } from '../agents/caller.ts';
import { MAX_KEY_LENGTH } from '../context/context-operations.ts';
import { isJsonObject, jsonObjectSchema } from '../json/json.ts';
import { failure, REASONS, type Reason } from '../reasons.ts';
import type { Named, Peer } from '../rpc/peer.ts';
import type { Services } from '../services.ts';

export interface Call {
  readonly services: Services;
  readonly peer: Peer;
  readonly caller: Caller;
}

/** Parameters by name, among them what any request may carry. */
export type ParamsSchema = z.ZodObject & z.ZodType<Named>;

export interface MethodSpec<Params extends ParamsSchema, Result extends z.ZodType> {
  readonly summary: string;
  readonly params: Params;
  readonly result: Result;
  /** Beyond those that any method may give. */
  readonly errors: readonly Reason[];
  /**
   * `read` changes nothing; `connection` changes only what this connection receives; `write` is
   * done once per idempotency key; `keyed` is, too, and checks the key inside the write itself.
   */
  readonly effect: 'read' | 'write' | 'keyed' | 'connection';
  /** `agent_id` names the agent that the request is about, not the one that asks. */
  readonly aboutAgent?: true;
  /** Whether these parameters take an agent that asks; by default they do. */
  needsAgent?(params: z.output<Params>): boolean;
  run(call: Call, params: z.output<Params>): Promise<z.output<Result>>;
  /** What the connection learns from an answer, also from one that is given again. */
  onAnswer?(call: Call, result: z.output<Result>): Promise<void>;
}

export interface Method<
  Params extends ParamsSchema = ParamsSchema,
  Result extends z.ZodType = z.ZodType,
> extends MethodSpec<Params, Result> {
  /**
   * BAD_INPUT with every problem when the parameters are not as the schema says. One that may be left
   * out and that cannot be null is left out by null.
   */
  parse(params: unknown): z.output<Params>;
}

export function defineMethod<Params extends ParamsSchema, Result extends z.ZodType>(
  spec: MethodSpec<Params, Result>,
): Method<Params, Result> {
  return {
    ...spec,
    parse(params) {
      const parsed = spec.params.safeParse(params);
      if (parsed.success) return parsed.data;
      const nulls = optionalNulls(spec.params, params, parsed.error);
      if (nulls.length === 0) throw badParams(parsed.error);
      return this.parse(without(params, nulls));
    },
  };
}

/** A key of the store. Not every engine keeps half of a surrogate pair. */
export const keyName = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .refine((text) => text.isWellFormed(), 'expected text without lone surrogates');

/** What any request may carry. */
const commonParams = {
  agent_id: agentIdSchema
    .optional()
    .describe(
      'The agent that asks; by default the one registered on this connection, else the only one that the ' +
        'principal registered, of several the only one in the session',
    ),
  epoch: z.int().optional().describe('Registration that the request belongs to, from register'),
  idempotency_key: keyName(256).optional().describe('A request with the same key is done once'),
  trace_id: z.string().max(64).optional().describe('The trace that this belongs to'),
};

/** Parameters by name, and what any request may carry; what a method says itself goes first. */
export function request<Shape extends z.ZodRawShape>(shape: Shape) {
  const all: Omit<typeof commonParams, keyof Shape> & Shape = { ...commonParams, ...shape };
  return z.strictObject(all);
}

/** Those that were refused because they are null, and need not be there. */
function optionalNulls({ shape }: z.ZodObject, params: unknown, error: z.ZodError): string[] {
  if (!isJsonObject(params)) return [];
  const refused = new Set(error.issues.map(({ path }) => String(path[0])));
  return Object.entries(shape).flatMap(([name, schema]) => {
    const isNull = refused.has(name) && params[name] === null;
    return isNull && z.safeParse(schema, undefined).success ? [name] : [];
  });
}

function without(params: unknown, names: readonly string[]): unknown {
  const kept = Object.entries(params ?? {}).filter(([name]) => !names.includes(name));
  return Object.fromEntries(kept);
}

function badParams(error: z.ZodError) {
  const problems = error.issues.map(({ path, message }) => ({ at: path.join('.'), message }));
  const [first] = problems;
  const where = first?.at ? `"${first.at}": ` : '';
  const problem = `${where}${first?.message ?? ''}`;
  return failure('bad_params/schema', { problem, problems });
}

export interface MethodDescription {
  readonly name: string;
  /** The first part of the name, such as `memory_locker`. */
  readonly service: string;
  readonly summary: string;
  readonly effect: Method['effect'];
  /** JSON Schemas. */
  readonly params: JsonObject;
  readonly result: JsonObject;
  readonly errors: readonly { readonly reason: Reason; readonly code: number }[];
}

/** Rows as documentation and tools read them. A schema is made when it is read: that costs a start. */
export function describeTable(table: Readonly<Record<string, Method>>): MethodDescription[] {
  return Object.entries(table).map(([name, method]) => ({
    name,
    service: name.slice(0, name.indexOf('.')),
    summary: method.summary,
    effect: method.effect,
    get params() {
      return toJsonSchema(method.params, 'input');
    },
    get result() {
      return toJsonSchema(method.result, 'output');
    },
    errors: method.errors.map((reason) => ({ reason, code: REASONS[reason].rpc })),
  }));
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(rest));
}

// Fields that several methods share.

const HOUR_MS = 3_600_000;

export const sessionId = sessionIdSchema.describe('The session');
export const version = z.int().min(0);
export const cursor = z.int().min(0).describe('Read on, or subscribe, from here');
export const time = z.number().describe('Milliseconds since 1970');
export const contextKey = keyName(MAX_KEY_LENGTH);
export const anyResource = keyName(256);
export const resource = anyResource
  .default('context')
  .describe('What is locked; by default the context of the session');
export const lockToken = z.int().describe('As memory_locker.acquire gave it');
export const lockTtl = z
  .int()
  .min(1)
  .max(HOUR_MS)
  .default(60_000)
  .describe('The lock ends by itself after this time');
export const waitMs = z
  .int()
  .min(0)
  .max(HOUR_MS / 6)
  .default(0);
export const metadata = jsonObjectSchema.describe('Anything about it, as a JSON object');
export const limit = z.int().min(1).max(1_000).default(100);
export const sessionTtl = z
  .int()
  .min(1_000)
  .max(30 * 24 * HOUR_MS);
