import { type Command, InvalidArgumentError } from 'commander';
import {
  action,
  type GlobalOptions,
  toDurationMs,
  toLimit,
  untilStopped,
  withExamples,
} from '../command-line.ts';
import { connectToGateway } from '../gateway-client.ts';
import { CallLines } from '../journal-view.ts';
import type { Terminal } from '../terminal.ts';

interface CallsOptions extends GlobalOptions {
  readonly caller?: string;
  readonly agent?: string;
  readonly capability?: string;
  readonly face?: string;
  readonly failed?: true;
  readonly running?: true;
  readonly code?: string;
  readonly since?: number;
  readonly until?: number;
  readonly trace?: string;
  readonly text?: string;
  readonly limit: number;
  readonly follow?: true;
}

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom calls', 'the newest calls'],
    ['starloom calls --failed --since 1h --follow', 'failures of the last hour, and new ones'],
    ['starloom trace <id>', 'one call with its route, attempts and what it called'],
  ])
    .option('--caller <principal>', 'only calls of this caller')
    .option('--agent <id>', 'only calls of this agent')
    .option('--capability <name>', 'only calls of this capability')
    .option('--face <face>', 'only calls that came by mcp, a2a, rpc, job or http')
    .option('--failed', 'only calls that failed')
    .option('--running', 'only calls that run now')
    .option('--code <code>', 'only calls that failed with this code')
    .option('--since <time>', 'only calls since then: 30m, 12h, 7d, or a date', toMoment)
    .option('--until <time>', 'only calls before then', toMoment)
    .option('--trace <id>', 'only calls of this trace')
    .option('--text <text>', 'only calls with this text anywhere')
    .option('--limit <n>', 'how many at most', toLimit, 30)
    .option('-f, --follow', 'go on with calls as they are made')
    .action(action(terminal, () => showCalls));
}

/** `30m` ago, or a date. */
export function toMoment(text: string): number {
  if (/^\d{1,6}[smhd]$/.test(text)) return Date.now() - toDurationMs(text);
  const at = Date.parse(text);
  if (!Number.isNaN(at) && at >= 0) return at;
  throw new InvalidArgumentError('expected a time ago such as 30m, 12h or 7d, or a date.');
}

const WAIT_MS = 20_000;

async function showCalls(terminal: Terminal, options: CallsOptions): Promise<void> {
  const { json, limit, follow, caller, agent, trace, failed, running, ...rest } = options;
  const { capability, face, code, since, until, text } = rest;
  const filter = {
    principal: caller,
    agent_id: agent,
    status: failed ? 'failed' : running ? 'running' : undefined,
    trace_id: trace,
    ...{ capability, face, code, since, until, text },
  };
  await using client = await connectToGateway(terminal);
  let page = await client.call('fabric.calls.list', { ...filter, limit });
  if (json && !follow) return terminal.json({ calls: page.calls, next: page.next });
  if (page.calls.length === 0 && !follow) return terminal.tell('no calls');
  const lines = new CallLines(terminal.columns);
  const show = (calls: typeof page.calls) => {
    for (const call of calls) {
      if (json) terminal.json(call);
      else terminal.print(lines.line(call));
    }
  };
  if (!json) terminal.print(lines.head);
  // A list that goes on ends with the newest.
  show(follow ? page.calls.toReversed() : page.calls);
  if (!follow) return;
  const stopped = untilStopped().then(() => undefined);
  while (true) {
    const args = { ...filter, limit: 1_000, after: page.cursor, wait_ms: WAIT_MS };
    const next = await Promise.race([client.call('fabric.calls.list', args), stopped]);
    if (!next) return;
    page = next;
    show(page.calls);
  }
}
