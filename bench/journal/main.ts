// `npm run bench:journal`: what the journal costs. Two gateways, one with the journal in SQLite and one without,
// are called in turn over 16 connections, so that what drifts on the machine hits both alike.

import { temporaryFolder } from '@starloom/testkit';
import {
  type CommandContext,
  type CommandOptions,
  type Measurement,
  runCommand,
} from '../command.ts';
import { parseFlags, parseNumber } from '../flags.ts';
import { LoadGenerator } from '../load/load-generator.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { capabilityCall } from '../mcp-call.ts';
import { readOrigin } from '../origin.ts';
import { ownProgram } from '../own-program.ts';
import { rotated } from '../rotated.ts';
import { median, round } from '../statistics.ts';
import { Server } from '../targets/server.ts';
import { benchAgent, buildCommand, GATEWAY_HEADERS, gatewayProgram } from '../targets/starloom.ts';

const SLICE = { connections: 16, rampMs: 200, measureMs: 1_000 };
const WARM_UP = 3;
/** Of the throughput without a journal. */
const LEAST_RATIO = 0.93;

const USAGE = `npm run bench:journal -- [options]

  --seconds <n>  measured per gateway (default 15)
  --json         print the report as one line of JSON
  --help         print this
`;

interface JournalOptions extends CommandOptions {
  readonly seconds: number;
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '15' },
} as const;

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

function parseOptions(args: readonly string[]): JournalOptions {
  const { seconds, ...rest } = parseFlags(args, FLAGS, USAGE);
  return { ...rest, seconds: parseNumber('seconds', seconds, { least: 1, most: 600 }, USAGE) };
}

async function bench({ seconds }: JournalOptions, context: CommandContext): Promise<Measurement> {
  const { signal, tell } = context;
  const origin = readOrigin();
  tell('building the command as it is packed');
  const command = await buildCommand();
  await using world = new AsyncDisposableStack();
  const folder = world.use(await temporaryFolder());
  const upstream = world.use(await Server.start(ownProgram('targets/upstream.ts'), {}, signal));
  const load = world.use(await LoadGenerator.start());
  const kinds = ['sqlite', 'off'] as const;
  const targets = await Promise.all(
    kinds.map(async (kind) => {
      const agents = [benchAgent(upstream.url)];
      const program = await gatewayProgram(`${folder.path}/${kind}`, agents, command);
      const env = { ...program.env, STARLOOM_JOURNAL__KIND: kind };
      const server = world.use(await Server.start({ ...program, env }, GATEWAY_HEADERS, signal));
      return { kind, server, perSecond: [] as number[], cpu: [] as number[] };
    }),
  );
  const { headers, ...call } = capabilityCall({ kind: 'unary' });
  const failures: string[] = [];
  for (let turn = -WARM_UP; turn < seconds; turn += 1) {
    tell(turn < 0 ? 'warming up' : `round ${turn + 1} of ${seconds}`);
    for (const { kind, server, perSecond, cpu } of rotated(targets, turn + WARM_UP)) {
      const { url, pid } = server;
      const keyed = { ...call, headers: { ...headers, ...GATEWAY_HEADERS } };
      const result = await load.run({ ...SLICE, url, call: keyed, pid }, signal);
      const { latenciesMs, cpuMicroseconds = 0, failed, failure } = result;
      if (failed > 0) failures.push(`${kind}: ${failed} failed: ${failure}`);
      if (turn < 0) continue;
      perSecond.push(latenciesMs.length / result.seconds);
      cpu.push(cpuMicroseconds / latenciesMs.length);
    }
  }
  const [kept, off] = targets;
  // Round by round: each pair was measured within two seconds.
  const pairs = kept?.perSecond.map((value, index) => value / (off?.perSecond[index] ?? value));
  const ratio = round(median(pairs ?? []) ?? 0, 3);
  if (ratio < LEAST_RATIO) failures.push(`throughput is ${ratio} of that without a journal`);
  const rows = targets.map(({ kind, perSecond, cpu }) => [
    kind,
    String(Math.round(median(perSecond) ?? 0)),
    String(Math.round(median(cpu) ?? 0)),
  ]);
  const figures = Object.fromEntries(
    rows.map(([kind, calls, cpu]) => [
      kind,
      { calls_per_second: Number(calls), cpu_us: Number(cpu) },
    ]),
  );
  const { versions, commit } = origin;
  const passed = failures.length === 0 ? 1 : 0;
  return {
    report: {
      name: 'journal',
      passed,
      failed: failures.length,
      skipped: 0,
      figures,
      ratios: { throughput: ratio },
      versions,
      commit,
    },
    text: [
      ...failures,
      toMarkdownTable(['Journal', 'Calls per second', 'CPU per call, µs'], rows),
      `throughput with the journal: ${ratio} of that without (at least ${LEAST_RATIO})`,
    ].join('\n'),
  };
}
