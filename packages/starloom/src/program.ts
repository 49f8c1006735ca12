import { Command } from 'commander';
import { asTyped } from './command-name.ts';
import { addAgentCommands } from './commands/agent.ts';
import { addAgentsCommands } from './commands/agents.ts';
import { addAuditCommands } from './commands/audit.ts';
import { addConfigCommands } from './commands/config.ts';
import { addFabricCommands } from './commands/fabric.ts';
import { addJobsCommands } from './commands/jobs.ts';
import { addKeysCommands } from './commands/keys.ts';
import { addPassportCommands } from './commands/passport.ts';
import { addPolicyCommands } from './commands/policy.ts';
import { addRpcCommand } from './commands/rpc.ts';
import { addUpCommand } from './commands/up.ts';
import type { Terminal } from './terminal.ts';
import { readVersion } from './version.ts';

export function createProgram(terminal: Terminal): Command {
  const program = new Command('starloom')
    .description('One fabric for every agent.')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--json', 'print data and errors as JSON')
    .option('-c, --config <file>', 'the gateway file (else $STARLOOM_CONFIG, ./starloom.yaml)')
    .helpOption('-h, --help', 'print help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.print(asTyped(text, terminal.env)),
      writeErr: terminal.tell,
      outputError: () => {},
      getOutHelpWidth: () => terminal.columns ?? 100,
    })
    .exitOverride();
  addUpCommand(program, terminal);
  addAgentsCommands(program, terminal);
  addFabricCommands(program, terminal);
  addJobsCommands(program, terminal);
  addAgentCommands(program, terminal.unfiltered);
  addRpcCommand(program, terminal);
  addKeysCommands(program, terminal);
  addPassportCommands(program, terminal);
  addPolicyCommands(program, terminal);
  addAuditCommands(program, terminal);
  addConfigCommands(program, terminal);
  return program;
}
