import type { Command } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

export interface AuditShowOptions extends GlobalOptions {
  readonly trace?: string;
}

export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program.command('audit').description('verify and show the audit log');
  audit
    .command('verify')
    .description('find changed, missing and reordered lines; exits 1 when there are any')
    .argument('[files...]', "the gateway's log and the decisions of agents in the state folder")
    .action(async (files: string[], _, command: Command) => {
      const { verifyAuditLog } = await import('./audit-run.ts');
      await verifyAuditLog(terminal, files, command.optsWithGlobals<GlobalOptions>());
    });
  audit
    .command('show')
    .description('show who called what on whose behalf, oldest first')
    .option('--trace <id>', 'only calls and mandates of this trace')
    .action(async (_, command: Command) => {
      const { showAuditLog } = await import('./audit-run.ts');
      await showAuditLog(terminal, command.optsWithGlobals<AuditShowOptions>());
    });
}
