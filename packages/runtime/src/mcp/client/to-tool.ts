import {
  closestWord,
  ERROR_META_KEY,
  FabricError,
  type Fields,
  fromErrorPayload,
  fromErrorText,
  isObject,
  toFields,
} from '@starloom/core';
import type { Tool } from '@starloom/mcp-client';
import type { ContentSegment, ITool, ToolContext, ToolEffect, ToolOutput } from '@starloom/sdk';
import type { McpServerConfig } from '../../config/agent-toml.ts';
import { failure } from '../../reasons.ts';

/** As far as a server described it. */
type OfferedTool = Pick<Tool, 'name'> &
  Partial<Pick<Tool, 'title' | 'description' | 'inputSchema' | 'annotations'>>;

const MAX_DESCRIPTION = 8_192;

/** What the server says of the effect is pinned with the rest, also where the operator decides. */
interface HintedTool extends ITool {
  readonly hint: ToolEffect;
}

/**
 * A tool of a server as one of the agent's. Its results are untrusted. Its `readOnlyHint` counts when the
 * operator listed the tool; a hint that it destroys always does.
 */
export function toTool(
  { name: server, allowed_tools, tools = {} }: McpServerConfig,
  { name, title, description, inputSchema, annotations }: OfferedTool,
  execute: (args: Fields, context: ToolContext) => Promise<ToolOutput>,
): HintedTool {
  const { effect = hintedEffect(annotations, isListed(allowed_tools)), targets } =
    (Object.hasOwn(tools, name) && tools[name]) || {};
  return {
    name: `${server}:${name}`,
    description: (description ?? title ?? '').slice(0, MAX_DESCRIPTION),
    parameters: inputSchema ?? { type: 'object' },
    execute,
    untrusted: true,
    source: `mcp:${server}`,
    hint: annotations?.readOnlyHint === true ? 'read' : 'act',
    ...(effect && { effect }),
    ...(targets && { targets }),
  };
}

function hintedEffect(hints: Fields = {}, isVetted: boolean): ToolEffect | undefined {
  const { readOnlyHint, destructiveHint } = hints;
  if (isVetted && typeof readOnlyHint === 'boolean') return readOnlyHint ? 'read' : 'act';
  return destructiveHint === true ? 'act' : undefined;
}

const ALL = '*';

/** A name that the operator listed and the server does not offer. */
export interface MissingTool {
  readonly name: string;
  /** One that may have been meant. */
  readonly near: string | undefined;
}

/** The operator listed the tools of this server, by name or with `*`: their descriptions are vetted. */
export function isListed(allowed: readonly string[] | undefined): boolean {
  return allowed !== undefined;
}

/** What a server's tools come to: not set or `*` is all of them, an empty list none, a list those. */
export function allowedTools<Named extends { readonly name: string }>(
  tools: readonly Named[],
  allowed: readonly string[] | undefined,
) {
  if (allowed === undefined) return { tools: [...tools], missing: [] as MissingTool[] };
  const names = new Set(tools.map(({ name }) => name));
  const all = allowed.includes(ALL);
  return {
    tools: tools.filter(({ name }) => all || allowed.includes(name)),
    missing: allowed
      .filter((name) => name !== ALL && !names.has(name))
      .map((name): MissingTool => ({ name, near: closestWord(name, names) })),
  };
}

const MAX_FAILURE = 8_192;

/** The result of a tool. Throws when the tool says that it failed, or asks instead of answering. */
export function toOutput(server: string, result: Fields): ContentSegment[] {
  const { resultType = 'complete', isError, content, structuredContent } = result;
  if (resultType !== 'complete') throw failure('unsupported_result', { server });
  const segments = Array.isArray(content) ? content.filter(isObject).map(toSegment) : [];
  if (isError === true) throw toolFailure(server, result, segments);
  if (segments.length > 0 || structuredContent === undefined) return segments;
  return [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }];
}

function toSegment(block: Fields): ContentSegment {
  const { type, text, data, mimeType } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return { type, data, ...(typeof mimeType === 'string' && { mimeType }) };
  }
  if (type === 'resource') return { type: 'text', text: resourceText(toFields(block.resource)) };
  if (type === 'resource_link') {
    return { type: 'text', text: `(resource ${block.name}: ${block.uri})` };
  }
  return { type: 'text', text: JSON.stringify(block) };
}

function resourceText({ uri, text, mimeType = 'binary' }: Readonly<Fields>): string {
  return typeof text === 'string' ? `${uri}\n\n${text}` : `(${mimeType} resource ${uri})`;
}

/** A failure of another Starloom keeps its code; of any other server only the text is known. */
function toolFailure(
  server: string,
  { _meta }: Fields,
  segments: readonly ContentSegment[],
): FabricError {
  const words = segments.flatMap(({ text }) => text ?? []);
  const ours = fromErrorPayload(toFields(_meta)[ERROR_META_KEY]) ?? fromErrorText(words[0] ?? '');
  if (ours) return ours.with({ server });
  const text = words.join('\n').slice(0, MAX_FAILURE);
  return new FabricError('UPSTREAM_ERROR', text || 'The tool failed and did not say why', {
    details: { reason: 'tool_error', server },
  });
}
