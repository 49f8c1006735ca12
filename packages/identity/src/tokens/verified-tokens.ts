import { hash } from 'node:crypto';
import type { TokenVerifier } from '../authenticator.ts';
import type { Principal } from '../principal.ts';

const MOST = 10_000;

/**
 * Tokens that were verified lately, by their hash: a signature costs a hundred times a lookup. Whether
 * one still holds is asked each time; one that does not is verified again, which says why.
 */
export function rememberVerified(
  verify: (token: string) => Promise<Principal>,
  isCurrent: (principal: Principal) => boolean,
  most = MOST,
): TokenVerifier {
  const known = new Map<string, Principal>();
  return {
    verify(token) {
      const digest = hash('sha256', token, 'base64');
      const principal = known.get(digest);
      if (principal && isCurrent(principal)) return principal;
      known.delete(digest);
      return verify(token).then((verified) => {
        const [oldest] = known.keys();
        if (known.size >= most && oldest !== undefined) known.delete(oldest);
        known.set(digest, verified);
        return verified;
      });
    },
  };
}
