// Which spelling of tool names a client is listed. Both spellings can be called by every client.

import { TOOL_NAME_STYLES, type ToolNameStyle } from '@starloom/core';
import { failure } from '../reasons.ts';
import type { ToolDefinition } from '../tools/tool.ts';

export const TOOL_NAME_SETTINGS = ['auto', ...TOOL_NAME_STYLES] as const;
export type ToolNameSetting = (typeof TOOL_NAME_SETTINGS)[number];

/**
 * Clients that are known to refuse or rewrite names with dots, by the start of their
 * `clientInfo.name` in lower case. Model APIs behind them accept `^[a-zA-Z0-9_-]{1,64}$` alone.
 */
const REFUSE_DOTS: Readonly<Record<string, string>> = {
  claude: 'Anthropic API: names match ^[a-zA-Z0-9_-]{1,64}$',
  'local-agent-mode': 'Claude desktop: same API',
  codex: 'OpenAI Responses API: function names take no dots',
  openai: 'OpenAI API: same pattern',
  chatgpt: 'OpenAI API: same pattern',
  cursor: 'drops tools whose names have other characters',
  copilot: 'OpenAI API: same pattern',
  github: 'Copilot clients: same pattern',
  'visual studio code': 'rewrites names to [a-z0-9_-], which can join two tools',
  vscode: 'as Visual Studio Code',
  'visual studio': 'as Visual Studio Code',
  windsurf: 'passes names to model APIs as they are',
  cline: 'passes names to model APIs as they are',
  roo: 'fork of Cline',
  zed: 'passes names to model APIs as they are',
  gemini: 'Gemini API rewrites dots on its own, which breaks matching by name',
  goose: 'passes names to model APIs as they are',
  opencode: 'passes names to model APIs as they are',
  continue: 'passes names to model APIs as they are',
};

/** By setting, and for `auto` by who the client says it is; one that says nothing gets underscores. */
export function nameStyleFor(
  setting: ToolNameSetting,
  clientName: string | undefined,
): ToolNameStyle {
  if (setting !== 'auto') return setting;
  if (clientName === undefined || clientName.trim() === '') return 'underscores';
  const name = clientName.trim().toLowerCase();
  const refuses = Object.keys(REFUSE_DOTS).some((start) => name.startsWith(start));
  return refuses ? 'underscores' : 'dots';
}

// `tools/list` in pages, for fleets whose tools do not fit into one answer. The first page begins with
// our own tools, by which the others can be found and called; agents' tools follow by name. A cursor
// holds the last name that was listed: it stays good while agents come and go, and on other gateways.

interface ListedTools {
  readonly ours: readonly ToolDefinition[];
  /** By name. */
  readonly agents: readonly ToolDefinition[];
}

export interface ToolPage {
  readonly tools: readonly ToolDefinition[];
  readonly nextCursor?: string;
}

/** BAD_INPUT for a cursor that no page gave out. */
export function toolPage(
  { ours, agents }: ListedTools,
  limit = Number.POSITIVE_INFINITY,
  cursor?: string,
): ToolPage {
  if (cursor !== undefined) return pageAfter(agents, parseCursor(cursor), limit);
  if (ours.length + agents.length <= limit) return { tools: [...agents, ...ours] };
  const { tools, ...next } = pageAfter(agents, '', Math.max(limit - ours.length, 0));
  return { tools: [...ours, ...tools], ...next };
}

function pageAfter(agents: readonly ToolDefinition[], after: string, limit: number): ToolPage {
  const found = agents.findIndex(({ name }) => name > after);
  const start = found === -1 ? agents.length : found;
  const tools = agents.slice(start, start + limit);
  if (start + tools.length >= agents.length) return { tools };
  return { tools, nextCursor: toCursor(tools.at(-1)?.name ?? after) };
}

function toCursor(name: string): string {
  return `t1.${Buffer.from(name).toString('base64url')}`;
}

function parseCursor(cursor: string): string {
  const [, encoded] = /^t1\.([\w-]{0,1000})$/.exec(cursor) ?? [];
  if (encoded !== undefined) return Buffer.from(encoded, 'base64url').toString('utf8');
  throw failure('bad_cursor');
}
