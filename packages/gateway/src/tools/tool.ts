import { FabricError, suggestionFor } from '@starloom/core';
import { mayUseAgents, type Principal } from '@starloom/identity';
import { z } from 'zod';
import type { Caller } from '../pipeline/call-request.ts';
import { isRefusedByHttp } from '../pipeline/limits.ts';
import { answerTrace, readOrigin } from '../pipeline/origin.ts';
import { type ToolResult, toErrorResult, toPayload, toResult } from '../pipeline/respond.ts';

/** How a tool is listed; JSON Schemas as MCP wants them. Those of our tools are made when they are read. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema?: Record<string, unknown>;
  readonly annotations?: Readonly<Record<string, unknown>>;
  /** What an MCP agent says of it beyond that: `icons`, `execution`, `_meta`. */
  readonly [more: string]: unknown;
}

/**
 * A tool of the gateway. Knows nothing of any MCP library. What it throws is a FabricError that the
 * caller gets as an error of its protocol; every other failure is a result.
 */
export interface Tool {
  readonly definition: ToolDefinition;
  /** To a caller that may not, the tool looks unknown. */
  readonly mayUse: (principal: Principal) => boolean;
  /** Which rule of the policy makes it look unknown; for the log. */
  readonly hiddenBy?: (principal: Principal) => string | undefined;
  run(args: unknown, caller: Caller): Promise<ToolResult>;
}

interface ToolSpec<Schema extends z.ZodType> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Schema;
  readonly output: Record<string, unknown>;
  readonly annotations: Record<string, boolean>;
  /** A payload becomes a result on the trace of the request. */
  run(args: z.output<Schema>, caller: Caller): Answer | Promise<Answer>;
}

type Answer = ToolResult | { readonly ok: true; readonly [field: string]: unknown };

export const READ_ONLY = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** A tool from its parts: arguments are parsed first, a thrown error becomes its payload. */
export function defineTool<Schema extends z.ZodType>(spec: ToolSpec<Schema>): Tool {
  const { name, title, description, annotations } = spec;
  const outputSchema = orFailure(spec.output);
  let inputSchema: ToolDefinition['inputSchema'] | undefined;
  return {
    definition: {
      name,
      title,
      description,
      get inputSchema() {
        inputSchema ??= toJsonSchema(spec.input);
        return inputSchema;
      },
      outputSchema,
      annotations,
    },
    mayUse: mayUseAgents,
    async run(args, caller) {
      try {
        const parsed = parseArguments(name, spec.input, args);
        readOrigin(caller);
        const answer = await spec.run(parsed, caller);
        return isResult(answer) ? answer : toResult(answer, answerTrace(caller));
      } catch (error) {
        caller.request?.fail(error);
        if (isRefusedByHttp(FabricError.from(error), caller)) throw error;
        return toErrorResult(toPayload(error, answerTrace(caller)));
      }
    },
  };
}

function isResult(answer: Answer): answer is ToolResult {
  return 'content' in answer;
}

function parseArguments<Schema extends z.ZodType>(
  tool: string,
  schema: Schema,
  args: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const problems = issues.map(
    ({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`,
  );
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [],
  );
  const [fix] = unknown.flatMap((key) => suggestionFor(key, known) ?? []);
  throw new FabricError('BAD_INPUT', `Wrong arguments for ${tool}: ${problems[0]}`, {
    details: { reason: 'arguments', tool, problems, ...(fix !== undefined && { fix }) },
  });
}

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
}

/** Clients check structured content against the output schema, also when the tool failed. */
function orFailure(success: Record<string, unknown>): Record<string, unknown> {
  const properties = {
    ok: { type: 'boolean' },
    ...success,
    error: {
      type: 'object',
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        details: { type: 'object' },
      },
      required: ['code', 'message', 'details'],
    },
    trace: { type: ['object', 'null'] },
  };
  return { type: 'object', properties, required: ['ok'] };
}
