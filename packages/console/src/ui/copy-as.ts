// A call as something to paste. The key is never in it: `$STARLOOM_KEY` stands where it belongs.

import type { TryRequest } from '../api-types.ts';

export const COPY_KINDS = ['curl', 'MCP', 'TypeScript'] as const;
export type CopyKind = (typeof COPY_KINDS)[number];

export function copyAs(kind: CopyKind, call: TryRequest, gateway: string): string {
  const url = new URL('/mcp', gateway).href;
  if (kind === 'MCP') return JSON.stringify(requestOf(call), null, 2);
  if (kind === 'curl') return toCurl(call, url);
  return toTypeScript(call, url);
}

function requestOf(call: TryRequest): object {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'fabric.call',
      arguments: { ...call },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
}

function toCurl(call: TryRequest, url: string): string {
  return [
    `curl -sS ${quoted(url)}`,
    `-H "Authorization: Bearer $STARLOOM_KEY"`,
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json, text/event-stream'",
    "-H 'MCP-Protocol-Version: 2026-07-28'",
    "-H 'Mcp-Method: tools/call'",
    "-H 'Mcp-Name: fabric.call'",
    `--data-raw ${quoted(JSON.stringify(requestOf(call)))}`,
  ].join(' \\\n  ');
}

function toTypeScript(call: TryRequest, url: string): string {
  return `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'my-client', version: '1.0.0' });
const headers = { Authorization: \`Bearer \${process.env.STARLOOM_KEY}\` };
await client.connect(
  new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)}), { requestInit: { headers } }),
);
const result = await client.callTool({
  name: 'fabric.call',
  arguments: ${JSON.stringify(call, null, 2).replaceAll('\n', '\n  ')},
});
console.log(result.structuredContent);
await client.close();
`;
}

/** For a shell: single quotes, so nothing in it is expanded. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
