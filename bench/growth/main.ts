// `npm run bench:growth`: what a call and a list cost when an agent has many tools, and when there are
// many agents. Every size has a gateway of its own; slices go round all of them, so that what drifts on
// the machine hits all alike.

import { temporaryFolder } from '@starloom/testkit';
import {
  type CommandContext,
  type CommandOptions,
  type Measurement,
  type MeasuringReport,
  runCommand,
} from '../command.ts';
import { parseFlags, parseNumber } from '../flags.ts';
import { LoadGenerator } from '../load/load-generator.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { AGENT_ID, capabilityCall, type HttpCall, listToolsCall } from '../mcp-call.ts';
import { type Origin, readOrigin, toOriginLine } from '../origin.ts';
import { ownProgram } from '../own-program.ts';
import { residentMegabytes } from '../process-usage.ts';
import { rotated } from '../rotated.ts';
import { median } from '../statistics.ts';
import { Server } from '../targets/server.ts';
import { buildCommand, GATEWAY_HEADERS, gatewayProgram } from '../targets/starloom.ts';
import { writeDocs } from '../write-docs.ts';

const TOOLS = [10, 1_000, 10_000];
const AGENTS = [10, 500, 5_000];
const CONNECTIONS = 4;
const SLICE = { connections: CONNECTIONS, rampMs: 200, measureMs: 1_000 };

const USAGE = `npm run bench:growth -- [options]

  --seconds <n>    measured per size (default 5)
  --tools <list>   numbers of tools of one agent (default ${TOOLS.join(',')})
  --agents <list>  numbers of agents of two tools each (default ${AGENTS.join(',')})
  --write-docs     put the figures into docs/benchmarks.md
  --json           print the report as one line of JSON
  --help           print this
`;

interface GrowthOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly seconds: number;
  readonly tools: readonly number[];
  readonly agents: readonly number[];
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  seconds: { type: 'string', default: '5' },
  tools: { type: 'string', default: TOOLS.join(',') },
  agents: { type: 'string', default: AGENTS.join(',') },
} as const;

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

function parseOptions(args: readonly string[]): GrowthOptions {
  const { help, json, seconds, tools, agents, ...rest } = parseFlags(args, FLAGS, USAGE);
  const numbers = (name: string, text: string) =>
    text.split(',').map((each) => parseNumber(name, each, { least: 1, most: 100_000 }, USAGE));
  return {
    help,
    json,
    writeDocs: rest['write-docs'],
    seconds: parseNumber('seconds', seconds, { least: 1, most: 600 }, USAGE),
    tools: numbers('tools', tools),
    agents: numbers('agents', agents),
  };
}

/** One gateway of a size, or the upstream beside it. */
interface Target {
  readonly name: string;
  readonly server: Server;
  readonly call: HttpCall;
  readonly url: string;
  /** CPU time per answer, one figure a round. */
  readonly cpu: number[];
}

async function bench(options: GrowthOptions, context: CommandContext): Promise<Measurement> {
  const origin = readOrigin();
  context.tell('building the command as it is packed');
  const command = await buildCommand();
  await using world = new AsyncDisposableStack();
  const folder = world.use(await temporaryFolder());
  const { signal } = context;
  const upstream = world.use(await Server.start(ownProgram('targets/upstream.ts'), {}, signal));
  const load = world.use(await LoadGenerator.start());
  const start = async (name: string, agents: readonly object[]) => {
    context.tell(`starting a gateway with ${name}`);
    const program = await gatewayProgram(`${folder.path}/${name}`, agents, command);
    return world.use(await Server.start(program, GATEWAY_HEADERS, signal));
  };

  const calls: Target[] = [];
  const lists: Target[] = [];
  const sizes: Record<string, { start_ms: number; resident_mb: number | undefined }> = {};
  const add = (name: string, server: Server, call: HttpCall) => {
    calls.push({ name, server, call: withKey(call), url: server.url, cpu: [] });
    const resident = residentMegabytes(server.pid);
    sizes[name] = {
      start_ms: Math.round(server.startupMs),
      resident_mb: resident && Math.round(resident),
    };
  };
  for (const count of options.tools) {
    const name = `tools_${count}`;
    const url = `${upstream.url}?tools=${count}`;
    const server = await start(name, [agent(AGENT_ID, url)]);
    add(name, server, capabilityCall({ kind: 'unary' }));
    const call = listToolsCall();
    lists.push({ name, server, call: withKey(call), url: server.url, cpu: [] });
    const bytes = await sizeOfList(server.url, signal);
    const same = `${upstream.url}?bytes=${bytes}`;
    lists.push({ name: `${name}_bytes`, server: upstream, call, url: same, cpu: [] });
  }
  for (const count of options.agents) {
    const ids = Array.from({ length: count }, (_, index) => `agent-${index}`);
    const name = `agents_${count}`;
    const server = await start(
      name,
      ids.map((id) => agent(id, upstream.url)),
    );
    add(name, server, capabilityCall({ kind: 'unary' }, ids.at(-1)));
  }

  const failures: string[] = [];
  const rounds = Math.ceil((options.seconds * 1000) / SLICE.measureMs);
  for (const [kind, targets] of Object.entries({ calls, lists })) {
    for (let round = 0; round <= rounds; round += 1) {
      context.tell(`${kind}: round ${round} of ${rounds}${round === 0 ? ', to warm up' : ''}`);
      for (const { name, server, call, url, cpu } of rotated(targets, round)) {
        const result = await load.run({ ...SLICE, url, call, pid: server.pid }, signal);
        const { latenciesMs, cpuMicroseconds, failed, failure } = result;
        if (failed > 0) failures.push(`${kind} ${name}: ${failed} failed: ${failure}`);
        else if (round > 0 && cpuMicroseconds !== undefined && latenciesMs.length > 0) {
          cpu.push(cpuMicroseconds / latenciesMs.length);
        }
      }
    }
  }
  const report = toReport({ calls, lists, sizes, failures }, origin);
  const text = toText(report, origin);
  if (options.writeDocs) await writeDocs('bench:growth', text);
  return { report, text: ['', ...failures, text].join('\n') };
}

/** Agents answer in the background: the list is whole when it holds the agent's last tool. */
async function sizeOfList(url: string, signal: AbortSignal): Promise<number> {
  const { headers, body, holds } = withKey(listToolsCall());
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  const text = await response.text();
  if (!holds.every((each) => text.includes(each))) throw new Error(`no list from ${url}`);
  return Buffer.byteLength(text);
}

function withKey(call: HttpCall): HttpCall {
  return { ...call, headers: { ...call.headers, ...GATEWAY_HEADERS } };
}

function agent(agent_id: string, uri: string): object {
  return { agent_id, endpoint: { protocol: 'mcp', transport: 'http', uri }, trust_tier: 'org' };
}

interface Measured {
  readonly calls: readonly Target[];
  readonly lists: readonly Target[];
  readonly sizes: Readonly<Record<string, object>>;
  readonly failures: readonly string[];
}

interface GrowthReport extends MeasuringReport {
  readonly figures: {
    readonly call_cpu_us: Readonly<Record<string, number>>;
    readonly list_cpu_us: Readonly<Record<string, number>>;
    readonly sizes: Measured['sizes'];
  };
}

/** Ratios: of a call to that of the smallest size, of a list to writing its bytes. */
function toReport({ calls, lists, sizes, failures }: Measured, origin: Origin): GrowthReport {
  const cpuOf = (targets: readonly Target[]) =>
    Object.fromEntries(targets.map(({ name, cpu }) => [name, Math.round(median(cpu) ?? 0)]));
  const call = cpuOf(calls);
  const list = cpuOf(lists);
  const ratios: Record<string, number> = {};
  for (const kind of ['tools', 'agents']) {
    const [smallest, ...others] = Object.keys(call).filter((name) => name.startsWith(kind));
    for (const name of others) ratios[`call.${name}`] = ratio(call[name], call[smallest ?? '']);
  }
  for (const name of Object.keys(list).filter((each) => !each.endsWith('_bytes'))) {
    ratios[`list.${name}`] = ratio(list[name], list[`${name}_bytes`]);
  }
  const { versions, commit } = origin;
  const counts = { passed: calls.length + lists.length - failures.length, failed: failures.length };
  const figures = { call_cpu_us: call, list_cpu_us: list, sizes };
  return { name: 'bench:growth', ...counts, skipped: 0, figures, ratios, versions, commit };
}

function ratio(value: number | undefined, base: number | undefined): number {
  return Math.round(((value ?? 0) / (base || 1)) * 100) / 100;
}

function toText({ figures, ratios }: GrowthReport, origin: Origin): string {
  const { call_cpu_us, list_cpu_us, sizes } = figures;
  const rows = Object.entries(sizes).map(([name, size]) => {
    const { start_ms, resident_mb } = size as { start_ms: number; resident_mb?: number };
    const call = [call_cpu_us[name], ratios[`call.${name}`]];
    return [name, ...call, list_cpu_us[name], ratios[`list.${name}`], start_ms, resident_mb];
  });
  const head = ['', 'CPU µs per call', '÷ smallest', 'CPU µs per list', '÷ its bytes', 'start ms'];
  return [toOriginLine(origin), toMarkdownTable([...head, 'RSS MB'], rows)].join('\n\n');
}
