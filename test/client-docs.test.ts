// docs/connect-your-client.md: every snippet parses and holds what its client needs.

import { readFileSync } from 'node:fs';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { nameStyleFor } from '../packages/gateway/src/mcp/tool-listing.ts';
import { TOOLSETS } from '../packages/gateway/src/tools/tool-lists.ts';
import { type CodeBlock, codeBlocks } from './support/code-blocks.ts';

interface Server {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bearer_token_env_var?: string;
  readonly command?: string;
  readonly args?: readonly string[];
}

const page = readFileSync(new URL('../docs/connect-your-client.md', import.meta.url), 'utf8');

/** Clients start programs in folders of their own, with whatever PATH they have. */
const CHECKOUT_COMMAND = '/path/to/starloom/node_modules/.bin/starloom';

/** Where each client keeps its servers, and the name it gives itself. */
const CLIENTS = [
  ['Claude Code', 'mcpServers', 'claude-code'],
  ['Claude Desktop', 'mcpServers', 'claude-ai'],
  ['Cursor', 'mcpServers', 'cursor-vscode'],
  ['VS Code', 'servers', 'Visual Studio Code'],
  ['Codex', 'mcp_servers', 'codex-mcp-client'],
  ['Gemini CLI', 'mcpServers', 'gemini-cli-mcp-client'],
  ['Zed', 'context_servers', 'Zed'],
] as const;

describe.each(CLIENTS)('%s', (client, key, name) => {
  const section = page.split(`\n## ${client}\n`)[1]?.split('\n## ')[0] ?? '';
  const servers = codeBlocks(section)
    .filter(({ language }) => language === 'json' || language === 'toml')
    .map((block) => (parseBlock(block)[key] as Record<string, Server>).starloom ?? {});
  const commands = codeBlocks(section).filter(({ language }) => language === 'sh');
  const text = JSON.stringify(servers) + commands.map(({ code }) => code).join('\n');

  it('is shown with a key over HTTP', () => {
    expect(text).toContain('http://127.0.0.1:7420/mcp');
    expect(text).toMatch(/Bearer |bearer_token_env_var|--bearer-token-env-var/);
    const withUrl = servers.filter(({ url }) => url !== undefined);
    for (const { headers = {}, bearer_token_env_var: variable } of withUrl) {
      expect(headers.Authorization ?? variable).toMatch(/^Bearer .|^STARLOOM_KEY$/);
    }
  });

  it('is shown over stdio', () => {
    const own = servers.filter(({ args = [] }) => args.includes('--stdio'));
    for (const { command, args } of own) {
      expect([command, ...(args ?? []).slice(0, 2)]).toEqual([CHECKOUT_COMMAND, 'up', '--stdio']);
    }
    const lines = commands.filter(({ code }) => code.includes('--stdio'));
    for (const { code } of lines) expect(code).toContain('"$STARLOOM" up --stdio');
    expect(own.length + lines.length).toBe(1);
  });

  it('is listed underscores, as the page says', () => {
    expect(nameStyleFor('auto', name)).toBe('underscores');
  });
});

it('names every toolset', () => {
  const named = TOOLSETS.filter((toolset) => page.includes(`| \`${toolset}\``));
  expect(named).toEqual(TOOLSETS);
});

function parseBlock({ language, code }: CodeBlock): Record<string, unknown> {
  return language === 'toml' ? parseToml(code) : (JSON.parse(code) as Record<string, unknown>);
}
