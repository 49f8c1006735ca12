import { FabricError } from '@starloom/core';
import type { ITool, ToolRisk } from '@starloom/sdk';

/** The tools of the agent in the corpus: the built-in ones as they declare themselves, and some servers. */
const BUILT_IN: Readonly<Record<string, { risk: ToolRisk; untrusted?: false }>> = {
  'fs:read_file': { risk: 'low' },
  'fs:list': { risk: 'low' },
  'fs:search': { risk: 'low' },
  'fs:write_file': { risk: 'medium', untrusted: false },
  'fs:edit_file': { risk: 'medium', untrusted: false },
  'git:status': { risk: 'low' },
  'git:diff': { risk: 'low' },
  'git:log': { risk: 'low' },
  'git:show': { risk: 'low' },
  'git:commit': { risk: 'medium', untrusted: false },
  'http:get': { risk: 'medium' },
  'http:request': { risk: 'high' },
  'shell:run': { risk: 'high' },
  'memory:put': { risk: 'low', untrusted: false },
  'memory:search': { risk: 'low' },
  'time:now': { risk: 'low', untrusted: false },
};

const SERVERS: Readonly<Record<string, readonly string[]>> = {
  tickets: ['get_ticket', 'search_tickets', 'create_ticket', 'add_comment'],
  mail: ['search_mail', 'read_message', 'send_message'],
  db: ['list_tables', 'query'],
  wiki: ['search_pages', 'get_page', 'update_page'],
  calendar: ['list_events', 'create_event'],
  weather: ['get_forecast'],
  translate: ['translate_text'],
  shop: ['search_products', 'get_order', 'refund_order'],
  notes: ['sync', 'list_notes'],
};

/** Other agents, reached through a gateway. */
const AGENTS: Readonly<Record<string, readonly string[]>> = {
  planner: ['plan', 'describe_plan'],
  researcher: ['research', 'get_findings'],
};

const TOOLS = new Map(
  [
    ...Object.entries(BUILT_IN).map(([name, options]) => toTool(name, options)),
    ...foreign('mcp', SERVERS),
    ...foreign('agent', AGENTS),
  ].map((tool) => [tool.name, tool]),
);

export function toolNamed(name: string): ITool {
  const tool = TOOLS.get(name);
  if (tool) return tool;
  throw new FabricError('INTERNAL', `The corpus has no tool ${name}`, {
    details: { fix: 'add it to corpus/tools.ts' },
  });
}

function foreign(scheme: string, table: Readonly<Record<string, readonly string[]>>): ITool[] {
  return Object.entries(table).flatMap(([owner, names]) =>
    names.map((name) => toTool(`${owner}:${name}`, { source: `${scheme}:${owner}` })),
  );
}

function toTool(name: string, options: Partial<ITool>): ITool {
  return {
    name,
    description: `${name} of the corpus`,
    parameters: { type: 'object' },
    execute: () => '',
    ...options,
  };
}
