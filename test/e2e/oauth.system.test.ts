import {
  Client,
  ClientCredentialsProvider,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { freePort } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DESK,
  type OpenIdProvider,
  PERSON,
  REDIRECT,
  ROBOT,
  startOpenIdProvider,
} from '../support/openid-provider.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';

const ECHO = `
require('node:readline').createInterface({ input: process.stdin }).once('line', (line) => {
  const { auth } = JSON.parse(line).envelope;
  const answer = auth.mode + ' ' + auth.principal_id;
  console.log(JSON.stringify({ type: 'final', data: { answer } }));
});`;

/** An MCP client of a person: the browser is the test. */
function personalLogin(openid: OpenIdProvider) {
  let tokens: ReturnType<OAuthClientProvider['tokens']>;
  let verifier = '';
  let answer = new URLSearchParams();
  const links: URL[] = [];
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { redirect_uris: [REDIRECT] },
    clientInformation: () => ({ ...DESK, issuer: openid.issuer }),
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given;
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    redirectToAuthorization: async (link) => {
      links.push(link);
      answer = await openid.agree(link);
    },
  };
  return { provider, links, answer: () => answer };
}

describe('a gateway that takes tokens of a real OpenID provider', () => {
  let openid: OpenIdProvider;
  let gateway: RunningGateway;
  let resource: string;

  beforeAll(async () => {
    openid = await startOpenIdProvider('agents notes');
    const port = await freePort();
    resource = `http://127.0.0.1:${port}`;
    const scopes = { agents: ['toolset:agents'], notes: ['toolset:coordination'] };
    gateway = await startGateway({
      port,
      config: { auth: { oauth: { resource, issuers: [{ issuer: openid.issuer, scopes }] } } },
      agents: [
        {
          agent_id: 'echo',
          trust_tier: 'org',
          endpoint: {
            transport: 'process',
            command: process.execPath,
            args: ['-e', ECHO],
          },
          capabilities: [{ name: 'say' }],
        },
      ],
    });
  });

  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await openid?.[Symbol.asyncDispose]();
  });

  const transportFor = (authProvider: OAuthClientProvider) =>
    new StreamableHTTPClientTransport(new URL(gateway.url), { authProvider });

  const sayHello = async (client: Client) => {
    const { structuredContent } = await client.callTool({
      name: 'fabric.call',
      arguments: { agent_id: 'echo', capability: 'say', task: 'hello' },
    });
    return structuredContent as { result?: { answer: string } };
  };

  it('serves the MCP SDK that signs in with client credentials', async () => {
    const { client_id: clientId, client_secret: clientSecret } = ROBOT;
    const about = { clientId, clientSecret, expectedIssuer: openid.issuer };
    const client = new Client({ name: 'robot', version: '1' });
    await client.connect(transportFor(new ClientCredentialsProvider(about)));
    expect((await sayHello(client)).result?.answer).toBe(`oauth ${openid.issuer}|${clientId}`);
    await client.close();
  });

  it('serves the MCP SDK of a person who logs in with PKCE, and asks for more scopes later', async () => {
    const login = personalLogin(openid);
    const first = transportFor(login.provider);
    await expect(new Client({ name: 'desk', version: '1' }).connect(first)).rejects.toThrow(
      UnauthorizedError,
    );
    const [link] = login.links;
    expect(link?.searchParams.get('code_challenge_method')).toBe('S256');
    expect(link?.searchParams.get('resource')).toBe(`${resource}/mcp`);
    expect(link?.searchParams.get('scope')).toBe('agents');
    await first.finishAuth(login.answer());

    const second = transportFor(login.provider);
    const client = new Client({ name: 'desk', version: '1' });
    await client.connect(second);
    expect((await sayHello(client)).result?.answer).toBe(`oauth ${openid.issuer}|${PERSON}`);

    const list = { name: 'session.list', arguments: { agent_id: 'a' } };
    await expect(client.callTool(list)).rejects.toThrow(UnauthorizedError);
    expect(login.links[1]?.searchParams.get('scope')?.split(' ')).toEqual(
      expect.arrayContaining(['agents', 'notes']),
    );
    await second.finishAuth(login.answer());
    expect((await client.callTool(list)).isError).toBeFalsy();
    await client.close();
  });

  it('refuses a token that the provider gave for another resource', async () => {
    const token = async (audience: string) => {
      const basic = Buffer.from(`${ROBOT.client_id}:${ROBOT.client_secret}`).toString('base64');
      const response = await fetch(`${openid.issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          resource: audience,
          scope: 'agents',
        }),
      });
      const { access_token } = (await response.json()) as { access_token: string };
      return access_token;
    };
    const statusWith = async (audience: string) => {
      const response = await fetch(gateway.url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await token(audience)}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      });
      return [response.status, response.headers.get('www-authenticate') ?? ''];
    };
    expect(await statusWith(`${resource}/mcp`)).toEqual([200, '']);
    const [status, challenge] = await statusWith('http://127.0.0.1:1/mcp');
    expect(status).toBe(401);
    expect(challenge).toContain('error="invalid_token"');
  });
});
