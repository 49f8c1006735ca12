// Who is signed in, what runs here, what the configuration says, and how clients connect.

import { type Origin, Secret, showOrigin } from '@starloom/config';
import type { ConfigValue, ConnectSnippet, Json, WhoAmI } from '@starloom/console/api-types';
import { mayAdministrate } from '@starloom/identity';
import type { ConsoleParts } from './console.ts';
import { type ConsoleRequest, type Handlers, partsOf, rightsOf } from './request.ts';
import { originOf } from './web-origin.ts';

const STARTED_AT = new Date(Date.now() - process.uptime() * 1_000).toISOString();

export const settingsHandlers: Handlers = {
  'GET session': (request) => whoAmI(request),
  'GET config': (request) => {
    const { settings } = request.parts;
    const isOperator = mayAdministrate(request.principal, 'policy');
    return {
      ...(settings?.file !== undefined && { path: settings.file }),
      values: isOperator && settings ? toValues(settings) : [],
      connect: snippets(originOf(request.exchange.request)),
    };
  },
};

function whoAmI(request: ConsoleRequest): WhoAmI {
  const { principal, parts, exchange } = request;
  const { id, tier, mode, keyId, scopes } = principal;
  return {
    principal: id,
    tier,
    mode,
    key_id: keyId,
    scopes,
    rights: rightsOf(request),
    gateway: {
      version: parts.gateway.version,
      url: originOf(exchange.request),
      started_at: STARTED_AT,
    },
    parts: partsOf(parts),
  };
}

const KINDS = { file: 'file', env: 'environment', flag: 'flag', default: 'default' } as const;

function toValues({
  value,
  origins,
}: NonNullable<ConsoleParts['settings']>): readonly ConfigValue[] {
  return [...origins].map(([key, origin]) => {
    const found = valueAt(value, key);
    return {
      key,
      ...(found instanceof Secret
        ? { secret: true, value: found.reference }
        : { value: withoutPassword(found ?? null) as Json }),
      origin: KINDS[origin.kind],
      ...whereOf(origin),
    };
  });
}

/** A URL may be written with a password in it. */
function withoutPassword(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/(\/\/[^/:@\s]*):[^@/\s]+@/, '$1:…@') : value;
}

function whereOf(origin: Origin): { readonly where?: string } {
  return origin.kind === 'default' ? {} : { where: showOrigin(origin) };
}

/** Keys are as people write them: `auth.psk[0].key`. */
function valueAt(value: unknown, key: string): unknown {
  const path = key.split(/[.[\]]+/).filter((part) => part !== '');
  return path.reduce<unknown>(
    (part, name) => (part as Record<string, unknown> | undefined)?.[name],
    value,
  );
}

/** With a variable where the key belongs: the page does not know it. */
function snippets(url: string): readonly ConnectSnippet[] {
  const mcp = `${url}/mcp`;
  const bearer = (name: string) => ({ headers: { Authorization: `Bearer \${${name}}` } });
  const json = (value: object) => JSON.stringify(value, null, 2);
  return [
    {
      client: 'claude-code',
      title: 'Claude Code',
      text: `claude mcp add --transport http starloom ${mcp} --header "Authorization: Bearer $STARLOOM_KEY"`,
    },
    {
      client: 'cursor',
      title: 'Cursor',
      file: '~/.cursor/mcp.json',
      text: json({ mcpServers: { starloom: { url: mcp, ...bearer('env:STARLOOM_KEY') } } }),
    },
    {
      client: 'vscode',
      title: 'VS Code',
      file: '.vscode/mcp.json',
      text: json({
        inputs: [{ type: 'promptString', id: 'key', description: 'Starloom key', password: true }],
        servers: { starloom: { type: 'http', url: mcp, ...bearer('input:key') } },
      }),
    },
    {
      client: 'codex',
      title: 'Codex',
      file: '~/.codex/config.toml',
      text: `[mcp_servers.starloom]\nurl = "${mcp}"\nbearer_token_env_var = "STARLOOM_KEY"`,
    },
    {
      client: 'gemini',
      title: 'Gemini CLI',
      file: '~/.gemini/settings.json',
      text: json({ mcpServers: { starloom: { httpUrl: mcp, ...bearer('STARLOOM_KEY') } } }),
    },
    {
      client: 'curl',
      title: 'curl',
      text: `curl ${mcp} -H "Authorization: Bearer $STARLOOM_KEY" -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    },
  ];
}
