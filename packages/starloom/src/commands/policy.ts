import type { Command } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

export interface PolicyTestOptions extends GlobalOptions {
  readonly fixtures?: string;
  readonly recorded?: true;
}

export function addPolicyCommands(program: Command, terminal: Terminal): void {
  const policy = program.command('policy').description('check and test the rules of the gateway');
  policy
    .command('check')
    .description('check the rules and show them in their order')
    .action(async (_, command: Command) => {
      const { checkPolicy } = await import('./policy-run.ts');
      await checkPolicy(terminal, command.optsWithGlobals<GlobalOptions>());
    });
  policy
    .command('test')
    .description('compare decisions with expected ones; exits 1 when one differs')
    .option(
      '--fixtures <file>',
      'expected decisions (else policy-tests.yaml beside the gateway file)',
    )
    .option('--recorded', 'show which calls of the audit log would be decided differently now')
    .action(async (_, command: Command) => {
      const options = command.optsWithGlobals<PolicyTestOptions>();
      const { testPolicy } = await import('./policy-run.ts');
      await testPolicy(terminal, options);
    });
}
