// The commands about passports: who acts for whom. They work on the state folder, where the signing keys
// of the gateway are.

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
import { Argument, type Command } from 'commander';
import {
  action,
  type GlobalOptions,
  toCount,
  toDurationMs,
  withExamples,
} from '../command-line.ts';
import { joinRealm, shareChange } from '../realm.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../terminal-text.ts';
import { assertScopes, identityFolderOf, toTier } from './keys.ts';

interface PassportCreateOptions extends GlobalOptions {
  readonly delegate?: string;
  readonly scope: readonly string[];
  readonly tier: string;
  readonly life: number;
  readonly depth: number;
  readonly calls?: number;
  readonly structured?: true;
  readonly certificate?: string;
}

const REVOKED_KINDS = ['principal', 'delegate', 'grant'] as const;
type RevokedKind = (typeof REVOKED_KINDS)[number];

const HOUR_MS = 3_600_000;

export function define(passport: Command, terminal: Terminal): void {
  withExamples(passport.command('create'), [
    ['starloom passport create ada --scope agent:planner agent:coder', 'for a person'],
    ['starloom passport create ada --delegate desk --scope agent:coder --life 8h', ''],
  ])
    .description('sign a passport for a principal, or for one who acts for it')
    .argument('<principal>', 'on whose behalf calls are made')
    .option('--delegate <name>', 'who acts for the principal; the principal itself by default')
    .requiredOption('--scope <scope...>', 'what it may use: agent:…, capability:agent/name, …')
    .option('--tier <tier>', 'how far the caller is trusted: local, org, partner, public', 'org')
    .option('--life <time>', 'how long it is valid, 24h at most', toDurationMs, HOUR_MS)
    .option('--depth <n>', 'longest chain of agents that act for it', toCount, 5)
    .option('--calls <n>', 'calls that agents may make below one call', toCount)
    .option('--certificate <file>', 'PEM of the client certificate that its bearer must show')
    .option('--structured', 'as a JSON object instead of a compact token')
    .action(action(terminal, () => createPassport));
  passport
    .command('show')
    .description('show what a passport or a mandate says, without verifying it')
    .argument('<token>', 'the token, or "-" to read it from standard input')
    .action(action(terminal, () => showPassport));
  passport
    .command('verify')
    .description('verify a passport as the gateway does; exits 3 if refused')
    .argument('<token>', 'the token, or "-" to read it from standard input')
    .action(action(terminal, () => verifyPassport));
  passport
    .command('revoke')
    .description('refuse tokens made so far for a principal, delegate or grant')
    .addArgument(new Argument('<kind>', 'of what').choices(REVOKED_KINDS))
    .argument('<id>')
    .action(action(terminal, () => revokePassports));
  for (const [name, isSuspended] of [
    ['suspend', true],
    ['resume', false],
  ] as const) {
    passport
      .command(name)
      .description(isSuspended ? 'refuse a grant until it is resumed' : 'accept a grant again')
      .argument('<grant>', 'as "passport show" names it')
      .action(action(terminal, () => setSuspended(isSuspended)));
  }
}

const MAX_LIFE_MS = 24 * 3_600_000;
const BUDGET_MS = 24 * 3_600_000;

async function createPassport(
  terminal: Terminal,
  principal: string,
  options: PassportCreateOptions,
): Promise<void> {
  const { delegate, scope, tier: named, life, depth, calls, structured, json } = options;
  assertScopes(scope);
  if (life > MAX_LIFE_MS || life < 60_000) {
    throw toUsageError('a passport lives for 1 minute to 24 hours', 'choose another --life');
  }
  const folder = await identityFolderOf(terminal);
  await joinRealm(terminal, options);
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
    if (json) return terminal.json({ passport: token, claims });
    const until = new Date(claims.exp * 1000).toISOString();
    const { sub, mnd } = claims;
    terminal.tell(line`passport of ${sub} for ${principal}, grant ${mnd}, until ${until}`);
    terminal.print(token);
  } finally {
    await keys.close();
  }
}

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

async function showPassport(terminal: Terminal, given: string, { json }: GlobalOptions) {
  const token = await tokenOf(given);
  const shown = token.startsWith('{') ? parse(token) : decode(token);
  terminal.json(shown, json ? undefined : 2);
  if (!json) terminal.tell('not verified; see "starloom passport verify"');
}

async function verifyPassport(terminal: Terminal, given: string, { json }: GlobalOptions) {
  const token = await tokenOf(given);
  const folder = await identityFolderOf(terminal);
  const identity = await openIdentity({ folder, configured: [], anonymous: false, log: silentLog });
  try {
    const caller = await identity.passports.verify(token);
    const { tier, scopes, delegation, expiresAt = 0 } = caller;
    const principal = onBehalfOf(caller);
    const expires_at = new Date(expiresAt).toISOString();
    const delegate = delegation?.delegateId;
    const grant = delegation?.mandateId;
    const facts = { principal, delegate, grant, tier, scopes, expires_at };
    if (json) return terminal.json({ valid: true, ...facts });
    terminal.print(line`valid: ${delegate} acts for ${principal} until ${expires_at}`);
    terminal.print(line`  tier ${tier}, grant ${grant}`);
    terminal.print(line`  ${scopes.join(' ')}`);
  } finally {
    await identity.close();
  }
}

async function revokePassports(
  terminal: Terminal,
  kind: RevokedKind,
  id: string,
  options: GlobalOptions,
): Promise<void> {
  const folder = await identityFolderOf(terminal);
  const epoch = await revoke(folder, kind, id, Date.now());
  const said = `everything made so far for the ${kind} "${id}" is refused from now on`;
  const value = { revoked: { kind, id }, epoch };
  await shareChange(terminal, folder, options, { said, value });
}

function setSuspended(isSuspended: boolean) {
  return async (terminal: Terminal, grant: string, options: GlobalOptions): Promise<void> => {
    const folder = await identityFolderOf(terminal);
    await suspendGrant(folder, grant, isSuspended);
    const said = `the grant "${grant}" is ${isSuspended ? 'suspended' : 'accepted again'}`;
    const value = { grant, suspended: isSuspended };
    await shareChange(terminal, folder, options, { said, value });
  };
}

async function tokenOf(given: string): Promise<string> {
  return (given === '-' ? await readAll(process.stdin) : given).trim();
}

function decode(token: string): object {
  const parts = token.split('.').map((part) => Buffer.from(part, 'base64url').toString('utf8'));
  const [header = '', claims = ''] = parts;
  return { header: parse(header), claims: parse(claims) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw toUsageError('This is no passport', 'give the token as "passport create" printed it');
  }
}
