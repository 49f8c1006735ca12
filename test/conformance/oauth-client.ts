// The MCP client of the gateway as the suite's client under test: the adapter of an agent over HTTP, and
// `starloom agents login` with a browser that agrees to everything. The suite gives the address of its
// agent as the last argument.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beginLogin, openAdapter } from '@starloom/adapters';
import {
  type Adapter,
  createTrace,
  FabricError,
  type Manifest,
  manifestSchema,
  parseEnvelope,
  silentLog,
} from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';

const uri = process.argv.at(-1) ?? '';
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  /** Of the workload. */
  readonly valid_jwt?: string;
  /** Of the person, from the single sign-on of the company. */
  readonly idp_id_token?: string;
  readonly idp_client_id?: string;
  readonly idp_token_endpoint?: string;
};
const REDIRECT = 'http://127.0.0.1:8976/callback';
/** A person gives up after so many logins. */
const LOGINS = 3;

await using folder = await temporaryFolder();
const manifest = manifestSchema.parse({
  agent_id: 'subject',
  endpoint: { transport: 'http', uri, options: { oauth: await oauthOptions() } },
});
const adapter = await openAdapter(
  { manifest, log: silentLog, stateFolder: folder.path },
  { baseFolder: folder.path },
);
try {
  await useWithLogins(adapter);
} finally {
  await adapter.close();
}

/** Describes the agent and calls its tools; where a login is needed the person logs in, as the error says. */
async function useWithLogins(adapter: Adapter): Promise<void> {
  for (let logins = 0; ; logins += 1) {
    try {
      return await use(adapter);
    } catch (thrown) {
      const { code, message, details } = FabricError.from(thrown);
      console.error(code, message, JSON.stringify(details));
      if (code !== 'AUTH_DENIED' || logins >= LOGINS || grant() !== 'authorization_code')
        throw thrown;
      const { needed_scope: scope } = details;
      await logIn(manifest, typeof scope === 'string' ? scope : undefined);
    }
  }
}

async function use(adapter: Adapter): Promise<void> {
  const context = { signal: AbortSignal.timeout(20_000), log: silentLog };
  const { capabilities } = await adapter.describe(context);
  for (const { name } of capabilities) {
    const envelope = parseEnvelope({
      trace: createTrace(),
      auth: { mode: 'none' },
      target: { agent_id: 'subject', capability: name },
      input: { task: '', arguments: {} },
      response: {},
      hop: { depth: 1, chain: [`subject/${name}`] },
    });
    for await (const { type } of adapter.call(envelope, context)) console.error(name, type);
  }
}

async function logIn(manifest: Manifest, scope: string | undefined): Promise<void> {
  const listen = async () => REDIRECT;
  await using login = await beginLogin({ manifest, stateFolder: folder.path, scope, listen });
  const { headers } = await fetch(login.link, { redirect: 'manual' });
  const answer = new URL(headers.get('location') ?? '').searchParams;
  if (!login.isOurs(answer)) throw new Error('the answer is not for this login');
  await login.finish(answer);
}

function grant() {
  if (scenario.startsWith('auth/client-credentials')) return 'client_credentials';
  return (given.valid_jwt ?? given.idp_id_token) ? 'jwt_bearer' : 'authorization_code';
}

/** What an operator writes into the manifest. */
async function oauthOptions() {
  if (scenario === 'auth/basic-cimd') {
    return {
      grant: grant(),
      client_id: 'https://conformance-test.local/client-metadata.json',
      issuer: await issuer(),
    };
  }
  const { client_id, client_secret, private_key_pem, idp_client_id, idp_token_endpoint } = given;
  if (client_id === undefined) return { grant: grant() };
  return {
    grant: grant(),
    client_id,
    client_secret,
    private_key: private_key_pem,
    assertion_file: await assertionFile(),
    idp_client_id,
    idp_token_endpoint,
    issuer: await issuer(),
  };
}

/** As the platform, or the single sign-on of the company, writes it. */
async function assertionFile(): Promise<string | undefined> {
  const jwt = given.valid_jwt ?? given.idp_id_token;
  if (jwt === undefined) return undefined;
  const path = join(folder.path, 'assertion.jwt');
  await writeFile(path, `${jwt}\n`, { mode: 0o600 });
  return path;
}

/** The operator knows at which server the client is registered. */
async function issuer(): Promise<string | undefined> {
  const { origin, pathname } = new URL(uri);
  for (const path of [pathname, '']) {
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    if (response.status !== 200) continue;
    const { authorization_servers = [] } = (await response.json()) as {
      authorization_servers?: string[];
    };
    return authorization_servers[0];
  }
  return undefined;
}
