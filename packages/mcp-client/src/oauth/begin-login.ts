// The login of a person: a link to open, and what to do with the answer that comes back to the
// redirect address. Tokens go into the state folder and nowhere else.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { exchangeAuthorization, startAuthorization } from '@modelcontextprotocol/client';
import type { FabricError } from '@starloom/core';
import { createTokenFetch } from './authorization.ts';
import { tokenDenied, tokenFailure } from './failures.ts';
import { findTokenServer } from './find-server.ts';
import { toClient, toStored } from './grants.ts';
import type { OauthOptions } from './options.ts';
import { TokenFile } from './token-file.ts';

export interface LoginOptions {
  readonly agentId: string;
  readonly uri: string;
  /** With the values of its secrets. */
  readonly oauth: OauthOptions;
  readonly stateFolder: string;
  /** Listens on this machine, on that port or any (0); the address that answers come to. */
  readonly listen: (port: number) => Promise<string>;
}

export interface Login extends AsyncDisposable {
  /** For the browser of the person. */
  readonly link: string;
  readonly issuer: string;
  /** Whether an answer carries the secret of this login; another one is not for us. */
  isOurs(answer: URLSearchParams): boolean;
  /** Trades the code of the answer for tokens and keeps them. Throws AUTH_DENIED. */
  finish(answer: URLSearchParams): Promise<void>;
}

export async function beginLogin(options: LoginOptions): Promise<Login> {
  const { agentId, uri, oauth, stateFolder, listen } = options;
  const http = createTokenFetch({ uri, oauth });
  const fix = 'begin again, and agree on the page of the server';
  const state = randomBytes(32).toString('base64url');
  try {
    const { issuer, metadata, resource, scope } = await findTokenServer(uri, oauth, http.fetch);
    if (!metadata.code_challenge_methods_supported?.includes('S256')) throw noPkce(issuer);
    const redirectUri = await listen(oauth.redirect_port ?? 0);
    const shared = { metadata, resource, clientInformation: toClient(oauth) };
    const { authorizationUrl, codeVerifier } = await startAuthorization(issuer, {
      ...shared,
      redirectUrl: redirectUri,
      state,
      ...(scope !== undefined && { scope }),
    });
    return {
      link: authorizationUrl.href,
      issuer,
      isOurs: (answer) => isSame(answer.get('state') ?? '', state),
      finish: async (answer) => {
        const iss = answer.get('iss') ?? undefined;
        try {
          const tokens = await exchangeAuthorization(issuer, {
            ...shared,
            authorizationCode: codeIn(answer, fix),
            ...(iss !== undefined && { iss }),
            codeVerifier,
            redirectUri,
            fetchFn: http.fetch,
          });
          const about = { uri, issuer, client_id: oauth.client_id };
          await new TokenFile(stateFolder, agentId).write(toStored(tokens, about));
        } catch (error) {
          throw tokenFailure(error, fix);
        }
      },
      [Symbol.asyncDispose]: () => http.close(),
    };
  } catch (error) {
    await http.close();
    throw tokenFailure(error, fix);
  }
}

function codeIn(answer: URLSearchParams, fix: string): string {
  const code = answer.get('code');
  if (code) return code;
  const error = answer.get('error') ?? '';
  throw tokenDenied('login_refused', 'The authorization server did not agree to the login', {
    oauth_error: /^[a-z_]{1,64}$/.test(error) ? error : 'invalid_request',
    fix,
  });
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function noPkce(issuer: string): FabricError {
  return tokenDenied('no_pkce', 'The authorization server does not offer PKCE with S256', {
    issuer,
    fix: 'use another authorization server',
  });
}
