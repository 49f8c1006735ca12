// Nonces that an agent wants in proofs (RFC 9449, section 9). Apart from the keys: these few lines are on
// the way of every request with a token.

import type { IncomingHttpHeaders } from 'node:http';
import type { DpopSession } from './dpop.ts';

/** As RFC 9449 writes one. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,1000}$/;

/** Any answer may bring the nonce for the next request. */
export function noteNonce(dpop: DpopSession, uri: string, headers: IncomingHttpHeaders): void {
  const nonce = headers['dpop-nonce'];
  if (typeof nonce === 'string' && NONCE.test(nonce)) dpop.rememberNonce(uri, nonce);
}

/** The agent wants its nonce in the proof, and has sent one. */
export function isNonceChallenge(headers: IncomingHttpHeaders): boolean {
  const { 'www-authenticate': challenge = '', 'dpop-nonce': nonce } = headers;
  const isAsked = /\berror="?use_dpop_nonce\b/.test(challenge);
  return isAsked && typeof nonce === 'string' && NONCE.test(nonce);
}
