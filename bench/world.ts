// Everything a run needs, each in a process of its own, stopped when the scope is left.

import { temporaryFolder } from '@starloom/testkit';
import { type Cores, onProxyCore } from './cores.ts';
import { LoadGenerator } from './load/load-generator.ts';
import type { HttpCall } from './mcp-call.ts';
import { ownProgram, type Program } from './own-program.ts';
import { CALL_OF_TARGET, type Cell, type TargetName } from './plan.ts';
import { Server } from './targets/server.ts';
import { GATEWAY_HEADERS, starloomProgram } from './targets/starloom.ts';

export interface WorldOptions {
  readonly targets: readonly TargetName[];
  /** How often each proxy is started before the one that stays. */
  readonly startups: number;
  readonly cores: Cores | undefined;
  readonly signal: AbortSignal;
}

export interface Target {
  readonly name: TargetName;
  readonly url: string;
  /** Of the proxy under test; `direct` has none. */
  readonly pid: number | undefined;
  call(cell: Cell): HttpCall;
}

/** A proxy of ours or a bare one, whose own cost is looked at. */
export interface ProxyUnderTest {
  readonly name: 'bare' | 'starloom';
  readonly server: Server;
  /** Of every start, the first one first. */
  readonly startupsMs: readonly number[];
}

export interface World extends AsyncDisposable {
  readonly targets: readonly Target[];
  readonly proxies: readonly ProxyUnderTest[];
  readonly load: LoadGenerator;
}

export async function openWorld(options: WorldOptions): Promise<World> {
  const { signal } = options;
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const upstream = opened.use(await Server.start(ownProgram('targets/upstream.ts'), {}, signal));
  const proxies: ProxyUnderTest[] = [];
  for (const plan of await planProxies(options, upstream.url, folder.path)) {
    const { server, startupsMs } = await startOften(plan, options);
    opened.use(server);
    proxies.push({ name: plan.name, server, startupsMs });
  }
  const load = opened.use(await LoadGenerator.start());
  const starloom = proxies.find(({ name }) => name === 'starloom')?.server;
  const session = starloom && (await starloom.openSession(GATEWAY_HEADERS, signal));
  const targets = options.targets.map((name) => toTarget(name, upstream, proxies, session));
  const stack = opened.move();
  return { targets, proxies, load, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

interface ProxyPlan {
  readonly name: ProxyUnderTest['name'];
  readonly program: Program;
  readonly headers: HttpCall['headers'];
}

async function planProxies(
  { targets }: WorldOptions,
  upstreamUrl: string,
  folder: string,
): Promise<ProxyPlan[]> {
  const plans: ProxyPlan[] = [];
  if (targets.includes('bare')) {
    const program = ownProgram('targets/bare-proxy.ts', upstreamUrl);
    plans.push({ name: 'bare', program, headers: {} });
  }
  if (targets.includes('starloom') || targets.includes('fabric_call')) {
    const program = await starloomProgram(folder, upstreamUrl);
    plans.push({ name: 'starloom', program, headers: GATEWAY_HEADERS });
  }
  return plans;
}

async function startOften(
  { program, headers }: ProxyPlan,
  { startups, cores, signal }: WorldOptions,
): Promise<{ server: Server; startupsMs: number[] }> {
  const startupsMs: number[] = [];
  const start = async () => {
    const server = await Server.start(onProxyCore(program, cores), headers, signal);
    startupsMs.push(server.startupMs);
    return server;
  };
  for (let count = 0; count < startups; count += 1) {
    await using _ = await start();
  }
  return { server: await start(), startupsMs };
}

/** `session` is the headers of an older client's session at the gateway. */
function toTarget(
  name: TargetName,
  upstream: Server,
  proxies: readonly ProxyUnderTest[],
  session: HttpCall['headers'] = {},
): Target {
  const isGateway = name !== 'direct' && name !== 'bare';
  const proxyName = name === 'fabric_call' ? 'starloom' : name;
  const proxy = proxies.find((candidate) => candidate.name === proxyName)?.server;
  return {
    name,
    url: (proxy ?? upstream).url,
    pid: proxy?.pid,
    call: (cell) => {
      const call = CALL_OF_TARGET[name](cell);
      const more = isGateway ? { ...GATEWAY_HEADERS, ...(cell.session && session) } : {};
      return { ...call, headers: { ...call.headers, ...more } };
    },
  };
}
