// Tokens that a person's login left in the state folder, and their renewal.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type OAuthTokens, refreshAuthorization } from '@modelcontextprotocol/client';
import { tryParseJson } from '@starloom/core';
import { withFileLock, writeOwnFile } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import {
  type AccessToken,
  assertUsable,
  isFresh,
  type ObtainToken,
  renewalOf,
} from './access-tokens.ts';
import { keyAuthentication, type OauthClient, toClientInformation } from './client.ts';
import { type DpopSession, dpopKeySchema, openDpop } from './dpop.ts';
import { loginCommand, tokenFailure } from './failures.ts';
import { type GrantOptions, toToken } from './grants.ts';

/** How long a logout may take to reach a gateway that runs. */
const RECHECK_MS = 2_000;

/** Without a state folder no person can have logged in. */
export function personalLogin(options: GrantOptions, file: TokenFile | undefined): ObtainToken {
  const { agentId, uri, oauth } = options;
  const fix = `run: ${loginCommand(agentId)}`;
  const authentication = keyAuthentication(oauth);
  /** A refresh token that was refused does not come back to life. */
  let dead: string | undefined;
  /** Nonces outlive the tokens, so the session of a key is kept. */
  let opened: { readonly x: string; readonly session: Promise<DpopSession> } | undefined;

  return async (refused) => {
    const stored = await read();
    if (stored === undefined || file === undefined) throw failure('login_needed', { fix });
    if (isUsable(stored, refused)) return await fromStored(stored);
    return await file.withLock(async () => {
      const now = (await read()) ?? stored;
      if (isUsable(now, refused)) return await fromStored(now);
      return await renew(file, now);
    });
  };

  /** A login without a key does not count where the manifest wants one. */
  async function read(): Promise<StoredTokens | undefined> {
    const stored = await file?.read(uri, oauth.client_id);
    return oauth.dpop && stored?.dpop_key === undefined ? undefined : stored;
  }

  async function renew(file: TokenFile, stored: StoredTokens): Promise<AccessToken> {
    const { refresh_token: refreshToken, dpop_key } = stored;
    if (refreshToken === undefined || refreshToken === dead) throw failure('login_over', { fix });
    try {
      const { issuer, metadata, resource } = await options.server();
      if (issuer !== stored.issuer) throw failure('login_over', { fix });
      const client = { ...stored, client_secret: stored.client_secret ?? oauth.client_secret };
      const clientInformation = toClientInformation(client);
      const dpop = await dpopOf(stored);
      const tokens = await refreshAuthorization(issuer, {
        metadata,
        resource,
        clientInformation,
        refreshToken,
        fetchFn: options.fetch,
        ...(authentication && { addClientAuthentication: authentication }),
        ...(dpop && { dpop }),
      });
      const kept = { refresh_token: refreshToken, ...tokens };
      const { scope } = stored;
      const about = { uri, issuer, scope, dpop_key, client: registeredOf(stored) };
      await file.write(toStored(kept, about));
      return { ...toToken(tokens, dpop), recheckAt: Date.now() + RECHECK_MS };
    } catch (error) {
      const failure = tokenFailure(error, fix);
      if (failure.details.oauth_error === 'invalid_grant') dead = refreshToken;
      throw failure;
    }
  }

  async function fromStored(stored: StoredTokens): Promise<AccessToken> {
    return {
      value: stored.access_token,
      dpop: await dpopOf(stored),
      renewAt: stored.renew_at,
      recheckAt: Date.now() + RECHECK_MS,
      isOld: true,
    };
  }

  async function dpopOf({ dpop_key: key }: StoredTokens): Promise<DpopSession | undefined> {
    if (key === undefined) return undefined;
    if (opened?.x !== key.x) opened = { x: key.x, session: openDpop(key) };
    return await opened.session;
  }
}

function registeredOf({ client_id, client_secret, ...more }: StoredTokens): OauthClient {
  return { client_id, client_secret, token_endpoint_auth_method: more.token_endpoint_auth_method };
}

type AboutLogin = Pick<StoredTokens, 'uri' | 'issuer' | 'scope' | 'dpop_key'>;

export function toStored(
  tokens: OAuthTokens,
  { client, ...about }: AboutLogin & { readonly client: OauthClient },
): StoredTokens {
  assertUsable(tokens, { isBound: about.dpop_key !== undefined });
  const { access_token, refresh_token } = tokens;
  const renew_at = renewalOf(tokens);
  return { ...about, ...client, access_token, refresh_token, renew_at };
}

function isUsable({ access_token, renew_at }: StoredTokens, refused: string | undefined): boolean {
  return access_token !== refused && isFresh(renew_at);
}

const tokensSchema = z.object({
  uri: z.string(),
  issuer: z.string(),
  client_id: z.string(),
  /** Of a client that was registered with the login. */
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  /** That the person agreed to. */
  scope: z.string().optional(),
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional(),
  /** That both tokens are bound to. */
  dpop_key: dpopKeySchema.optional(),
  /** When a new one is due, in milliseconds since 1970. */
  renew_at: z.number().optional(),
});

export type StoredTokens = z.infer<typeof tokensSchema>;

/**
 * Tokens that a person's login brought, one file per agent and readable by their owner alone. A
 * file that was made for another address, server or client does not count.
 */
export class TokenFile {
  readonly #path: string;
  readonly #folder: string;

  constructor(stateFolder: string, agentId: string) {
    this.#folder = join(stateFolder, 'oauth');
    this.#path = join(this.#folder, `${agentId}.json`);
  }

  /** `clientId`: as in the manifest, if it names one. */
  async read(uri: string, clientId: string | undefined): Promise<StoredTokens | undefined> {
    const text = await readFile(this.#path, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const parsed = tokensSchema.safeParse(tryParseJson(text));
    if (!parsed.success) return undefined;
    const { data } = parsed;
    const isSameClient = clientId === undefined || data.client_id === clientId;
    return data.uri === uri && isSameClient ? data : undefined;
  }

  async write(tokens: StoredTokens): Promise<void> {
    await writeOwnFile(this.#path, `${JSON.stringify(tokens)}\n`);
  }

  /** Whether there was a file. */
  async remove(): Promise<boolean> {
    return await rm(this.#path).then(
      () => true,
      () => false,
    );
  }

  /** Other processes that renew the same tokens wait. */
  async withLock<T>(work: () => Promise<T>): Promise<T> {
    return await withFileLock(this.#path, work);
  }
}
