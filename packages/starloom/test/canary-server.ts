// One HTTP server in the place of everything that a gateway talks to: an agent that tells all it was
// sent, an authorization server with an MCP agent behind it, a model, a receiver of webhooks and a
// collector of traces.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface CanaryServer extends AsyncDisposable {
  readonly url: string;
  /** What the collector of telemetry and the receiver of webhooks got. */
  readonly received: { readonly path: string; readonly body: string }[];
  /** What agents and models were sent as credentials. */
  readonly credentials: Set<string>;
}

export async function openCanaryServer(tokens: { readonly access: string }): Promise<CanaryServer> {
  const received: { path: string; body: string }[] = [];
  const credentials = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const path = request.url ?? '';
    for (const name of ['authorization', 'x-api-key']) {
      const value = request.headers[name];
      if (typeof value === 'string') credentials.add(value);
    }
    if (/^\/v1\/(traces|logs|metrics)$/.test(path) || path === '/hook') {
      received.push({ path, body: JSON.stringify(request.headers) + body });
      return json(response, 200, {});
    }
    if (path === '/token') {
      const expires_in = 3_600;
      return json(response, 200, { access_token: tokens.access, token_type: 'Bearer', expires_in });
    }
    if (path.startsWith('/.well-known/oauth-protected-resource')) {
      return json(response, 200, { resource: `${url}/mcp`, authorization_servers: [url] });
    }
    if (path === '/.well-known/oauth-authorization-server') {
      return json(response, 200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        response_types_supported: ['code'],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        code_challenge_methods_supported: ['S256'],
      });
    }
    tellAll(request, response, body, url);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    credentials,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A careless program: whatever is wrong, it says what it was sent. */
function tellAll(request: IncomingMessage, response: ServerResponse, body: string, url: string) {
  const { authorization } = request.headers;
  if (request.url?.startsWith('/mcp') && authorization === undefined) {
    const metadata = `${url}/.well-known/oauth-protected-resource/mcp`;
    const challenge = `Bearer resource_metadata="${metadata}"`;
    return void response.writeHead(401, { 'www-authenticate': challenge }).end();
  }
  if (request.url?.startsWith('/agent') && body.includes('"task":"ok"')) {
    return json(response, 200, { answer: 'ok' });
  }
  const said = { error: { message: 'refused', headers: request.headers, raw: request.rawHeaders } };
  json(response, request.url?.includes('model') ? 401 : 500, said);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
