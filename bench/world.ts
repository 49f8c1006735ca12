// Everything a run needs, each in a process of its own, stopped when the scope is left.

import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { type Cores, onProxyCore } from './cores.ts';
import { LoadGenerator } from './load/load-generator.ts';
import type { HttpCall } from './mcp-call.ts';
import { ownProgram, type Program } from './own-program.ts';
import {
  CALL_OF_TARGET,
  type Cell,
  FIRST_EVENT_CELL,
  isPeer,
  type PeerName,
  type TargetName,
} from './plan.ts';
import { openPeer, PEER_PROGRAMS } from './targets/peers.ts';
import { Server } from './targets/server.ts';
import { GATEWAY_HEADERS, starloomProgram } from './targets/starloom.ts';

export interface WorldOptions {
  readonly targets: readonly TargetName[];
  /** How often each proxy is started before the one that stays. */
  readonly startups: number;
  readonly cores: Cores | undefined;
  /** The built command; from source without it. */
  readonly command?: string;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export interface Target {
  readonly name: TargetName;
  readonly url: string;
  /** Of the proxy under test; `direct` has none. */
  readonly pid: number | undefined;
  /** Peers speak an older revision, and not all of them stream. */
  takes(cell: Cell): boolean;
  call(cell: Cell): HttpCall;
}

/** A process whose own cost is looked at; `direct` is the upstream, a bare `node:http` server. */
export interface ProxyUnderTest {
  readonly name: Exclude<TargetName, 'fabric_call'>;
  readonly server: Server;
  /** Of every start, the first one first. */
  readonly startupsMs: readonly number[];
  /** The headers of an older client after its handshake. */
  readonly session: HttpCall['headers'] | undefined;
}

export interface World extends AsyncDisposable {
  readonly targets: readonly Target[];
  readonly proxies: readonly ProxyUnderTest[];
  readonly load: LoadGenerator;
}

export async function openWorld(options: WorldOptions): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const proxies: ProxyUnderTest[] = [];
  const start = async (plan: ProxyPlan) => {
    const { server, startupsMs } = await startOften(plan, options);
    opened.use(server);
    const session = plan.hasOlderClients
      ? await server.openSession(plan.headers, options.signal)
      : undefined;
    if (plan.name === 'starloom' && session?.['mcp-session-id'] === undefined) {
      throw new FabricError('UPSTREAM_ERROR', 'The gateway gave no session to an older client');
    }
    const proxy = { name: plan.name, server, startupsMs, session };
    proxies.push(proxy);
    return proxy;
  };
  const upstream = await start(planOwn('direct', folder.path, 'targets/upstream.ts'));
  for (const plan of await planProxies(options, upstream.server.url, folder.path)) {
    await start(plan);
  }
  const load = opened.use(await LoadGenerator.start());
  const targets = options.targets.flatMap((name) => toTarget(name, proxies) ?? []);
  const stack = opened.move();
  return { targets, proxies, load, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

interface ProxyPlan {
  readonly name: ProxyUnderTest['name'];
  readonly program: Program;
  readonly headers: HttpCall['headers'];
  /** It knows older clients, which begin with a handshake. */
  readonly hasOlderClients?: true;
}

async function planProxies(
  { targets, command, tell }: WorldOptions,
  upstreamUrl: string,
  folder: string,
): Promise<ProxyPlan[]> {
  const plans: ProxyPlan[] = [];
  if (targets.includes('bare')) {
    plans.push(planOwn('bare', folder, 'targets/bare-proxy.ts', upstreamUrl));
  }
  if (targets.includes('starloom') || targets.includes('fabric_call')) {
    const program = await starloomProgram(folder, upstreamUrl, command);
    plans.push({ name: 'starloom', program, headers: GATEWAY_HEADERS, hasOlderClients: true });
  }
  for (const name of targets.filter(isPeer)) {
    tell(`opening ${name}, which is installed if it is not there yet`);
    const peer = await openPeer(name, upstreamUrl, folder);
    if ('missing' in peer) tell(`${name} is left out: ${peer.missing}`);
    else plans.push({ name, program: peer.program, headers: {}, hasOlderClients: true });
  }
  return plans;
}

/** With a cache of compiled code, as the gateway has one. */
function planOwn(
  name: ProxyUnderTest['name'],
  folder: string,
  file: string,
  ...args: string[]
): ProxyPlan {
  const env = childEnvironment({ extra: { NODE_COMPILE_CACHE: join(folder, 'cache') } });
  return { name, program: { ...ownProgram(file, ...args), env }, headers: {} };
}

/** The upstream stays where the load generator is; its starts are measured where the proxies are. */
async function startOften(
  { name, program, headers }: ProxyPlan,
  { startups, cores, signal }: WorldOptions,
): Promise<{ server: Server; startupsMs: number[] }> {
  const startupsMs: number[] = [];
  const start = async (on: Program) => {
    const server = await Server.start(on, headers, signal);
    startupsMs.push(server.startupMs);
    return server;
  };
  for (let count = 0; count < startups; count += 1) {
    await using _ = await start(onProxyCore(program, cores));
  }
  const last = name === 'direct' ? program : onProxyCore(program, cores);
  return { server: await start(last), startupsMs };
}

/** `undefined` of a peer that is missing. */
function toTarget(name: TargetName, proxies: readonly ProxyUnderTest[]): Target | undefined {
  const proxyName = name === 'fabric_call' ? 'starloom' : name;
  const proxy = proxies.find((candidate) => candidate.name === proxyName);
  if (!proxy) return undefined;
  const { server, session } = proxy;
  const isGateway = proxyName === 'starloom';
  return {
    name,
    url: server.url,
    pid: name === 'direct' ? undefined : server.pid,
    takes: (cell) => !isPeer(name) || isForPeer(name, cell),
    call: (cell) => {
      const call = CALL_OF_TARGET[name](cell);
      const gateway = isGateway && { ...GATEWAY_HEADERS };
      const older = (cell.session || isPeer(name)) && session;
      return { ...call, headers: { ...call.headers, ...gateway, ...older } };
    },
  };
}

function isForPeer(name: PeerName, cell: Cell): boolean {
  if (cell.kind === 'stream' && cell.connections > PEER_PROGRAMS[name].maxStreams) return false;
  return cell.revision !== undefined || cell.name === FIRST_EVENT_CELL.name;
}
