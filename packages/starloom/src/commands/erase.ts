import { FabricError } from '@starloom/core';
import type { Command } from 'commander';
import { action, confirm, type GlobalOptions, withExamples } from '../command-line.ts';
import { connectToGateway } from '../gateway-client.ts';
import { failure } from '../reasons.ts';
import { count } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../terminal-text.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [['starloom erase alice', 'calls, jobs and sessions of alice']])
    .argument('<principal>', 'whose data')
    .option('-y, --yes', 'do not ask')
    .action(action(terminal, () => erase));
}

async function erase(
  terminal: Terminal,
  principal: string,
  options: GlobalOptions & { readonly yes?: true },
): Promise<void> {
  const question = line`Remove the calls, usage, jobs and sessions of "${principal}" for good?`;
  const isMeant = options.yes ?? (await confirm(terminal, question));
  if (isMeant === undefined) throw failure('unconfirmed', { flag: '--yes' });
  if (!isMeant) throw new FabricError('CANCELLED', 'Nothing was removed');
  await using client = await connectToGateway(terminal);
  const erased = await client.call('fabric.erase', { principal });
  const { calls, jobs, open_jobs, sessions, kept } = erased;
  if (options.json) return terminal.json({ principal, calls, jobs, open_jobs, sessions, kept });
  const removed = `${count(calls, 'call')} and ${count(jobs, 'job')}`;
  terminal.print(`removed ${removed}, ended ${count(sessions, 'session')}`);
  if (open_jobs > 0) {
    const open = open_jobs === 1 ? '1 job is' : `${open_jobs} jobs are`;
    terminal.tell(`${open} being cancelled; run the same command again to remove what is left`);
  }
  for (const what of kept) terminal.tell(`  kept: ${what}`);
}
