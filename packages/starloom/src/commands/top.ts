import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  action,
  type GlobalOptions,
  toNumber,
  untilStopped,
  withExamples,
} from '../command-line.ts';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import { type TopFacts, topPage } from '../journal-view.ts';
import type { Terminal } from '../terminal.ts';

interface TopOptions extends GlobalOptions {
  readonly once?: true;
  readonly interval: number;
}

const WINDOWS_MS = [10_000, 60_000, 300_000];

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [['starloom top', 'rates, errors and durations as they change']])
    .option('--once', 'print one page and end, as in a pipe')
    .option('--interval <seconds>', 'how often it changes', toSeconds, 2)
    .action(action(terminal, () => showTop));
}

const toSeconds = toNumber('seconds, from 0.2 to 3600', { min: 0.2, max: 3_600, isWhole: false });

async function showTop(terminal: Terminal, options: TopOptions): Promise<void> {
  const { json, once, interval } = options;
  await using client = await connectToGateway(terminal);
  const isLive = !once && !json && terminal.columns !== undefined;
  const stop = new AbortController();
  if (isLive) void untilStopped().then(() => stop.abort());
  do {
    const facts = await readFacts(client);
    if (json) return terminal.json(facts);
    const page = topPage(facts, Date.now(), terminal.columns);
    if (!isLive) return terminal.print(page);
    terminal.replace(page);
    await delay(interval * 1_000, undefined, { signal: stop.signal }).catch(() => {});
  } while (!stop.signal.aborted);
}

async function readFacts(client: GatewayClient): Promise<TopFacts> {
  const [rates, health, jobs] = await Promise.all([
    client.call('fabric.calls.rates', { windows_ms: WINDOWS_MS }),
    client.call('fabric.health', {}),
    client.call('fabric.job.list', { limit: 100 }).catch(() => undefined),
  ]);
  const states = Map.groupBy(jobs?.jobs ?? [], ({ state }) => state);
  return {
    ...rates,
    agents: health.agents.list,
    jobs: Object.fromEntries([...states].map(([state, own]) => [state, own.length])),
  };
}
