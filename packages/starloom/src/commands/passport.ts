// The commands about passports: who acts for whom. They work on the state folder, where the signing keys
// of the gateway are.

import { Argument, type Command, InvalidArgumentError } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';
import { toDurationMs } from './duration.ts';
import { examples } from './examples.ts';

export interface PassportCreateOptions extends GlobalOptions {
  readonly delegate?: string;
  readonly scope: readonly string[];
  readonly tier: string;
  readonly life: number;
  readonly depth: number;
  readonly calls?: number;
  readonly structured?: true;
  readonly certificate?: string;
}

export const REVOKED_KINDS = ['principal', 'delegate', 'grant'] as const;
export type RevokedKind = (typeof REVOKED_KINDS)[number];

const HOUR_MS = 3_600_000;

export function addPassportCommands(program: Command, terminal: Terminal): void {
  const passport = program
    .command('passport')
    .description('create, show, verify and revoke passports');
  passport
    .command('create')
    .description('sign a passport for a principal, or for one who acts for it')
    .argument('<principal>', 'on whose behalf calls are made')
    .option('--delegate <name>', 'who acts for the principal; the principal itself by default')
    .requiredOption('--scope <scope...>', 'what it may use: agent:…, capability:agent/name, …')
    .option('--tier <tier>', 'how far the caller is trusted: local, org, partner, public', 'org')
    .option('--life <time>', 'how long it is valid, 24h at most', toDurationMs, HOUR_MS)
    .option('--depth <n>', 'longest chain of agents that act for it', toNumber, 5)
    .option('--calls <n>', 'calls that agents may make below one call', toNumber)
    .option('--certificate <file>', 'PEM of the client certificate that its bearer must show')
    .option('--structured', 'as a JSON object instead of a compact token')
    .addHelpText(
      'before',
      examples(
        ['starloom passport create ada --scope agent:planner agent:coder', 'for a person'],
        ['starloom passport create ada --delegate desk --scope agent:coder --life 8h', ''],
      ),
    )
    .action(async (principal: string, _, command: Command) => {
      const { createPassport } = await import('./passport-run.ts');
      await createPassport(terminal, principal, command.optsWithGlobals<PassportCreateOptions>());
    });
  passport
    .command('show')
    .description('show what a passport or a mandate says, without verifying it')
    .argument('<token>', 'the token, or "-" to read it from standard input')
    .action(async (token: string, _, command: Command) => {
      const { showPassport } = await import('./passport-run.ts');
      await showPassport(terminal, token, command.optsWithGlobals<GlobalOptions>());
    });
  passport
    .command('verify')
    .description('verify a passport as the gateway does; exits 3 when it is refused')
    .argument('<token>', 'the token, or "-" to read it from standard input')
    .action(async (token: string, _, command: Command) => {
      const { verifyPassport } = await import('./passport-run.ts');
      await verifyPassport(terminal, token, command.optsWithGlobals<GlobalOptions>());
    });
  passport
    .command('revoke')
    .description('refuse every passport and mandate made so far for a principal, delegate or grant')
    .addArgument(new Argument('<kind>', 'of what').choices(REVOKED_KINDS))
    .argument('<id>')
    .action(async (kind: RevokedKind, id: string, _, command: Command) => {
      const { revokePassports } = await import('./passport-run.ts');
      await revokePassports(terminal, kind, id, command.optsWithGlobals<GlobalOptions>());
    });
  for (const [name, isSuspended] of [
    ['suspend', true],
    ['resume', false],
  ] as const) {
    passport
      .command(name)
      .description(isSuspended ? 'refuse a grant until it is resumed' : 'accept a grant again')
      .argument('<grant>', 'as "passport show" names it')
      .action(async (grant: string, _, command: Command) => {
        const { setSuspended } = await import('./passport-run.ts');
        await setSuspended(terminal, grant, isSuspended, command.optsWithGlobals<GlobalOptions>());
      });
  }
}

function toNumber(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new InvalidArgumentError('expected a number.');
}
