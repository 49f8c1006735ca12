import { KEY } from '../test-gateway.ts';

type Params = { readonly _meta?: object; readonly [key: string]: unknown };

/** One tool call of the current revision, past any client library, and every message that came. */
export function callTool(url: string, name: string, params: Params = {}) {
  return send(url, 'tools/call', name, { name, arguments: {}, ...params });
}

/** One request of the current revision; `name` is what it is about, for the header. */
export async function send(
  url: string,
  method: string,
  name: string,
  { _meta = {}, ...params }: Params,
  key = KEY,
) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
          ..._meta,
        },
      },
    }),
  });
  const messages = toMessages(await response.text());
  const answer = messages.at(-1);
  return { status: response.status, answer, messages };
}

/** A body is one message, or a stream of them. */
// biome-ignore lint/suspicious/noExplicitAny: tests read into payloads freely
function toMessages(body: string): any[] {
  if (body.startsWith('{')) return [JSON.parse(body)];
  return [...body.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data));
}
