// The commands about shared keys of the gateway. They work on the state folder: a gateway that runs
// follows the change within a second.

import type { Command } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';
import { toDurationMs } from './duration.ts';
import { examples } from './examples.ts';

export interface KeysCreateOptions extends GlobalOptions {
  readonly principal?: string;
  readonly scope: readonly string[];
  readonly tier: string;
  readonly expires?: number;
}

export interface KeysRotateOptions extends GlobalOptions {
  readonly signing?: true;
  readonly atOnce?: true;
  readonly overlap: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export function addKeysCommands(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('create, list, rotate and revoke shared keys');
  keys
    .command('list', { isDefault: true })
    .description('list keys; the keys themselves are not kept')
    .action(async (_, command: Command) => {
      const { listSharedKeys } = await import('./keys-run.ts');
      await listSharedKeys(terminal, command.optsWithGlobals<GlobalOptions>());
    });
  keys
    .command('create')
    .description('make a key of 256 random bits; it is shown once')
    .argument('<key_id>', 'name of the key, in logs and for these commands')
    .option('--principal <name>', 'who a caller with this key is; the id of the key by default')
    .option('--scope <scope...>', 'what it may use: agent:…, capability:agent/name, toolset:…', [
      '*',
    ])
    .option('--tier <tier>', 'how far the caller is trusted: local, org, partner, public', 'org')
    .option('--expires <time>', 'after this time it is refused, such as 90d or 12h', toDurationMs)
    .addHelpText(
      'before',
      examples(
        ['starloom keys create ci --scope agent:coder', 'for callers of one agent'],
        ['starloom keys create bob --tier partner --expires 30d', 'for a guest'],
      ),
    )
    .action(async (keyId: string, _, command: Command) => {
      const { createSharedKey } = await import('./keys-run.ts');
      await createSharedKey(terminal, keyId, command.optsWithGlobals<KeysCreateOptions>());
    });
  keys
    .command('rotate')
    .description('make a key that replaces another one; both are valid for a while')
    .argument('[key_id]')
    .option('--signing', 'replace the key that signs passports and mandates instead')
    .option('--at-once', 'with --signing: refuse everything that older keys signed')
    .option('--overlap <time>', 'how long the old key stays valid', toDurationMs, DAY_MS)
    .action(async (keyId: string | undefined, _, command: Command) => {
      const { rotateSharedKey } = await import('./keys-run.ts');
      await rotateSharedKey(terminal, keyId, command.optsWithGlobals<KeysRotateOptions>());
    });
  keys
    .command('revoke')
    .description('refuse a key from now on, on open connections too')
    .argument('<key_id>')
    .action(async (keyId: string, _, command: Command) => {
      const { revokeSharedKey } = await import('./keys-run.ts');
      await revokeSharedKey(terminal, keyId, command.optsWithGlobals<GlobalOptions>());
    });
}
