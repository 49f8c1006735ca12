// The commands about calls that became jobs.

import { type Command, InvalidArgumentError } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

export interface JobsListOptions extends GlobalOptions {
  readonly state?: string;
  readonly capability?: string;
  readonly limit?: number;
}

export interface JobsWatchOptions extends GlobalOptions {
  readonly after: number;
}

export interface JobsInputOptions extends GlobalOptions {
  readonly decline?: true;
}

export function addJobsCommands(program: Command, terminal: Terminal): void {
  const jobs = program.command('jobs').description('list and steer your jobs');
  jobs
    .command('list', { isDefault: true })
    .description('list jobs, newest first')
    .option('--state <state>', 'only jobs in this state')
    .option('--capability <name>', 'only jobs of this capability')
    .option('--limit <n>', 'how many at most', toCount)
    .action(async (_, command: Command) => {
      const { listJobs } = await import('./jobs-run.ts');
      await listJobs(terminal, command.optsWithGlobals<JobsListOptions>());
    });
  for (const [name, description] of [
    ['show', 'show one job with its result'],
    ['cancel', 'end a job'],
    ['retry', 'start a new job with the call of one that is over'],
  ] as const) {
    jobs
      .command(name)
      .description(description)
      .argument('<job>')
      .action(async (job: string, _, command: Command) => {
        const { actOnJob } = await import('./jobs-run.ts');
        await actOnJob(terminal, name, job, command.optsWithGlobals<GlobalOptions>());
      });
  }
  jobs
    .command('watch')
    .description('follow a job to its end, also while the gateway restarts')
    .argument('<job>')
    .option('--after <cursor>', 'only events after this one', toCount, 0)
    .action(async (job: string, _, command: Command) => {
      const { watchJob } = await import('./jobs-watch.ts');
      await watchJob(terminal, job, command.optsWithGlobals<JobsWatchOptions>());
    });
  jobs
    .command('input')
    .description('answer what the agent of a job asks')
    .argument('<job>')
    .argument('<answers...>', '<question>=<text or JSON>, one for each open question')
    .option('--decline', 'refuse to answer: names of questions alone')
    .action(async (job: string, answers: string[], _, command: Command) => {
      const { answerJob } = await import('./jobs-run.ts');
      await answerJob(terminal, job, answers, command.optsWithGlobals<JobsInputOptions>());
    });
}

function toCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) throw new InvalidArgumentError('expected a number.');
  return count;
}
