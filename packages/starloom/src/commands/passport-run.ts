import { hash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { silentLog, systemClock } from '@starloom/core';
import {
  onBehalfOf,
  openIdentity,
  readEpoch,
  revoke,
  SigningKeys,
  signPassport,
  signStructuredPassport,
  suspendGrant,
  toAuthority,
  toPassportClaims,
} from '@starloom/identity';
import type { GlobalOptions } from '../global-options.ts';
import { line, toSafeJson } from '../plain-text.ts';
import { toUsageError } from '../report-error.ts';
import { identityFolder, makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { assertScopes, toTier } from './keys-run.ts';
import type { PassportCreateOptions, RevokedKind } from './passport.ts';
import { shareNow } from './share-now.ts';

const MAX_LIFE_MS = 24 * 3_600_000;
const BUDGET_MS = 24 * 3_600_000;

export async function createPassport(
  terminal: Terminal,
  principal: string,
  options: PassportCreateOptions,
): Promise<void> {
  const { delegate, scope, tier: named, life, depth, calls, structured, json } = options;
  assertScopes(scope);
  if (life > MAX_LIFE_MS || life < 60_000) {
    throw toUsageError('a passport lives for 1 minute to 24 hours', 'choose another --life');
  }
  const folder = await folderOf(terminal);
  const tier = toTier(named);
  const keys = await SigningKeys.open({ folder, clock: systemClock, log: silentLog });
  try {
    const claims = toPassportClaims(
      {
        principal,
        delegate,
        ...toAuthority(scope, tier),
        tier,
        lifeMs: life,
        maxDepth: depth,
        epoch: await readEpoch(folder),
        certificate: await thumbprintOf(options),
        now: Date.now(),
        ...(calls !== undefined && { budget: { calls, ms: BUDGET_MS } }),
      },
      keys.issuer,
    );
    const token = structured
      ? signStructuredPassport(claims, keys)
      : await signPassport(claims, keys);
    if (json) return void terminal.print(toSafeJson({ passport: token, claims }));
    const until = new Date(claims.exp * 1000).toISOString();
    terminal.tell(
      line`passport of ${claims.sub} for ${principal}, grant ${claims.mnd}, until ${until}`,
    );
    terminal.print(token);
  } finally {
    await keys.close();
  }
}

/** Of the certificate that a passport is bound to, if it is. */
async function thumbprintOf({ certificate, structured }: PassportCreateOptions) {
  if (certificate === undefined) return undefined;
  if (structured) {
    throw toUsageError('a structured passport cannot be bound', 'leave out --structured');
  }
  try {
    const { raw } = new X509Certificate(await readFile(certificate));
    return hash('sha256', raw, 'base64url');
  } catch {
    throw toUsageError(`${certificate} is no certificate in PEM`, 'name another file');
  }
}

export async function showPassport(
  terminal: Terminal,
  given: string,
  { json }: GlobalOptions,
): Promise<void> {
  const token = await tokenOf(given);
  const shown = token.startsWith('{') ? parse(token) : decode(token);
  terminal.print(toSafeJson(shown, json ? undefined : 2));
  if (!json) terminal.tell('not verified; see "starloom passport verify"');
}

export async function verifyPassport(
  terminal: Terminal,
  given: string,
  { json }: GlobalOptions,
): Promise<void> {
  const token = await tokenOf(given);
  const folder = await folderOf(terminal);
  const identity = await openIdentity({ folder, configured: [], anonymous: false, log: silentLog });
  try {
    const caller = await identity.passports.verify(token);
    const { tier, scopes, delegation, expiresAt = 0 } = caller;
    const principal = onBehalfOf(caller);
    const expires_at = new Date(expiresAt).toISOString();
    const delegate = delegation?.delegateId;
    const grant = delegation?.mandateId;
    if (json) {
      return void terminal.print(
        toSafeJson({ valid: true, principal, delegate, grant, tier, scopes, expires_at }),
      );
    }
    terminal.print(line`valid: ${delegate} acts for ${principal} until ${expires_at}`);
    terminal.print(line`  tier ${tier}, grant ${grant}`);
    terminal.print(line`  ${scopes.join(' ')}`);
  } finally {
    await identity.close();
  }
}

export async function revokePassports(
  terminal: Terminal,
  kind: RevokedKind,
  id: string,
  options: GlobalOptions,
): Promise<void> {
  const folder = await folderOf(terminal);
  const epoch = await revoke(folder, kind, id, Date.now());
  if (!options.json) {
    terminal.tell(`everything made so far for the ${kind} "${id}" is refused from now on`);
  }
  const sharing = await shareNow(terminal, folder, options);
  if (options.json) terminal.print(toSafeJson({ revoked: { kind, id }, epoch, ...sharing }));
}

export async function setSuspended(
  terminal: Terminal,
  grant: string,
  isSuspended: boolean,
  options: GlobalOptions,
): Promise<void> {
  const folder = await folderOf(terminal);
  await suspendGrant(folder, grant, isSuspended);
  if (!options.json) {
    terminal.tell(`the grant "${grant}" is ${isSuspended ? 'suspended' : 'accepted again'}`);
  }
  const sharing = await shareNow(terminal, folder, options);
  if (options.json) terminal.print(toSafeJson({ grant, suspended: isSuspended, ...sharing }));
}

async function folderOf({ env }: Terminal): Promise<string> {
  return identityFolder(await makeStateFolder(env));
}

async function tokenOf(given: string): Promise<string> {
  return (given === '-' ? await readAll(process.stdin) : given).trim();
}

function decode(token: string): object {
  const [header = '', claims = ''] = token.split('.');
  return { header: parsePart(header), claims: parsePart(claims) };
}

function parsePart(part: string): unknown {
  return parse(Buffer.from(part, 'base64url').toString('utf8'));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw toUsageError('This is no passport', 'give the token as "passport create" printed it');
  }
}
