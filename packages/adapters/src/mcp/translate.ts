// Between our words and those of MCP: what a call is as a tool call, and what comes back of it.

import { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';
import {
  argumentsFromTask,
  bounded,
  type CallContext,
  type Capability,
  capabilitySchema,
  type Envelope,
  ERROR_META_KEY,
  type EventBody,
  type FabricError,
  type Fields,
  type FinalData,
  fromErrorPayload,
  isObject,
  toMandateMeta,
  toMeta,
} from '@starloom/core';
import type { Tool } from '@starloom/mcp-client';
import { failure } from '../reasons.ts';

const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const MAX_SAID = 16_384;

type ContentBlock = { type: string; [key: string]: unknown };

export function toToolCall(
  toolArguments: Fields,
  { trace, hop }: Envelope,
  { meta, declared, ask, mandate }: Pick<CallContext, 'meta' | 'declared' | 'ask' | 'mandate'>,
): { arguments: Fields; _meta: Fields } {
  const own: Fields = toMeta(trace, hop);
  const _meta = meta ? { ...meta, ...own } : own;
  if (mandate !== undefined) Object.assign(_meta, toMandateMeta({ mandate }));
  const capabilities = declared?.[CLIENT_CAPABILITIES_META_KEY];
  if (capabilities !== undefined) _meta[CLIENT_CAPABILITIES_META_KEY] = withoutTasks(capabilities);
  else if (ask) _meta[CLIENT_CAPABILITIES_META_KEY] = CAN_BE_ASKED;
  const level = declared?.[LOG_LEVEL_META_KEY];
  if (level !== undefined) _meta[LOG_LEVEL_META_KEY] = level;
  return { arguments: toolArguments, _meta };
}

/** The gateway waits for the agent's result: an agent must not answer it with a task of its own. */
function withoutTasks(declared: unknown): unknown {
  if (!isObject(declared) || !isObject(declared.extensions)) return declared;
  const { [TASKS_EXTENSION]: _, ...extensions } = declared.extensions;
  return { ...declared, extensions };
}

/** Of a caller that speaks another protocol: it answers questions for people. */
const CAN_BE_ASKED = { elicitation: { form: {}, url: {} } };

/**
 * The result of a tool as the last event. `sent` is the final event the agent sent before, if it is
 * one of ours: it knows of citations, a result does not. Throws when the tool failed.
 */
export function toFinal(result: Fields, sent: FinalData | undefined): EventBody {
  const content = contentOf(result);
  if (result.isError === true) throw toolFailure(result, content);
  const read = 'structuredContent' in result ? result.structuredContent : result.toolResult;
  const data: Writable<FinalData> = { answer: textIn(content), content, upstream: result };
  if (read !== undefined) data.data = read;
  if (sent?.citations) data.citations = sent.citations;
  return { type: 'final', data };
}

/** Whether the agent wants input before it goes on; throws for a result that is neither. */
export function wantsInput({ resultType = 'complete' }: Fields): boolean {
  if (resultType === 'input_required') return true;
  if (resultType === 'complete') return false;
  throw failure('unsupported_result', { result_type: bounded(String(resultType)) });
}

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

function toolFailure(result: Fields, content: ContentBlock[]): FabricError {
  const meta = isObject(result._meta) ? result._meta : {};
  const ours = fromErrorPayload(meta[ERROR_META_KEY]);
  if (ours && !ours.isAgentAnswer) return ours;
  const said = textIn(content);
  const upstream = said === '' ? 'The tool gave no reason' : clip(said);
  return failure('tool_error', { upstream }, { answer: result });
}

/** Whole unless it is so long that logs and payloads would suffer; `answer` has all of it. */
function clip(text: string): string {
  return text.length <= MAX_SAID ? text : `${text.slice(0, MAX_SAID)}…`;
}

function contentOf({ content }: Fields): ContentBlock[] {
  if (!Array.isArray(content)) return [];
  return content.every(isContentBlock) ? content : content.filter(isContentBlock);
}

function isContentBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === 'string';
}

function textIn(content: readonly ContentBlock[]): string {
  if (content.length <= 1) return textOf(content[0]) ?? '';
  return content.flatMap((block) => textOf(block) ?? []).join('\n');
}

function textOf(block: ContentBlock | undefined): string | undefined {
  return block?.type === 'text' && typeof block.text === 'string' ? block.text : undefined;
}

/** What a tool is called with: the arguments of the envelope as they are, else what the task gives. */
export function toToolArguments(input: Envelope['input'], schema: Fields = {}): Fields {
  const { properties } = schema;
  const given = input.arguments ?? argumentsFromTask(input, schema);
  const takesAttachments = isObject(properties) && Object.hasOwn(properties, 'attachments');
  if (input.attachments.length === 0) return given;
  if (takesAttachments) return { attachments: input.attachments, ...given };
  throw failure('attachments_unsupported', {
    fix: 'call without attachments, or use a capability whose schema has "attachments"',
  });
}

/** Made once per list: calls compare it with what was approved. */
const capabilities = new WeakMap<Tool, Capability>();

/** A tool of the agent as a capability; a name that is not one of ours stays in `tool`. */
export function toCapability(tool: Tool): Capability {
  const known = capabilities.get(tool);
  if (known) return known;
  const made = parse(tool);
  capabilities.set(tool, made);
  return made;
}

function parse(tool: Tool): Capability {
  const { name, capability, title, description, inputSchema, outputSchema } = tool;
  const { annotations, rest } = tool;
  const idempotent = idempotenceOf(tool);
  return capabilitySchema.parse({
    name: capability,
    ...(capability === name ? {} : { tool: name }),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    input_schema: inputSchema ?? { type: 'object' },
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(Object.keys(rest).length === 0 ? {} : { mcp: rest }),
    ...(needsTask(tool) ? { tasks: {} } : {}),
  });
}

/** Whether an older agent answers calls of the tool with a task alone. */
export function needsTask({ rest: { execution } }: Tool): boolean {
  return isObject(execution) && execution.taskSupport === 'required';
}

function idempotenceOf({ annotations }: Tool): boolean | undefined {
  if (annotations.readOnlyHint === true) return true;
  const hint = annotations.idempotentHint;
  return typeof hint === 'boolean' ? hint : undefined;
}
