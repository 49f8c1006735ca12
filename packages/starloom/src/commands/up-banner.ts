import type { AgentRecord } from '@starloom/core';
import { toOneLine } from '../plain-text.ts';
import { fit } from '../text-width.ts';
import { offersOf } from './offers-of.ts';

export interface BannerInput {
  readonly url: string;
  readonly key: string;
  /** Unset where it could not be written. */
  readonly clientFile: string | undefined;
  readonly samples: boolean;
  readonly agents: readonly AgentRecord[];
  /** Width of the terminal, if it is one. */
  readonly columns: number | undefined;
}

/** What runs, where it is, and what to try next. */
export function banner(input: BannerInput): string {
  const { url, key, clientFile, samples, agents, columns = Number.POSITIVE_INFINITY } = input;
  const width = Math.max(0, ...agents.map(({ manifest }) => manifest.agent_id.length));
  const rows = agents.map(({ manifest: { agent_id, description }, capabilities, health }) => {
    const what = offersOf({
      capabilities,
      description: description && toOneLine(description),
      health,
    });
    return fit(`  ${agent_id.padEnd(width)}  ${what}`, columns);
  });
  return [
    `starloom is up at ${url}`,
    '',
    `  MCP        ${url}/mcp   (WebSocket: ${url.replace(/^http/, 'ws')}/mcp/ws)`,
    `  A2A        ${url}/a2a/<agent>/   (card: ${url}/.well-known/agent-card.json)`,
    `  sessions   ${url}/rpc   (WebSocket: ${url.replace(/^http/, 'ws')}/rpc/ws)`,
    `  metrics    ${url}/metrics`,
    `  key        ${key}${clientFile === undefined ? '' : `   (also in ${clientFile})`}`,
    '',
    samples ? 'Agents (with samples):' : 'Agents:',
    ...(rows.length > 0 ? rows : ['  none yet: the first command below adds one']),
    '',
    'Try next, in another terminal:',
    ...(samples
      ? [
          '  starloom call percy reason "Why do agents need a fabric? They talk past each other." --stream',
          '  starloom call flaky reason "This one fails on purpose. Who answers?" --stream',
        ]
      : []),
    '  starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem .',
    '  starloom agents',
    `  claude mcp add --transport http starloom ${url}/mcp --header "Authorization: Bearer ${key}"`,
    '',
    'Ctrl-C stops it.',
  ].join('\n');
}
