// The real gateway, `starloom up` with its default store, a bare WebSocket server beside it, and
// clients that reach them from another process.

import { temporaryFolder } from '@starloom/testkit';
import { type Cores, onProxyCore } from '../cores.ts';
import { ownProgram, type Program } from '../own-program.ts';
import { gatewayProgram } from '../targets/starloom.ts';
import { Clients } from './clients/clients.ts';
import type { FanOutResult, ResumeResult } from './clients/work.ts';
import { IN_FLIGHT, type Sizes, type TargetName } from './plan.ts';
import type { Part, Slice } from './update-target.ts';
import { WebSocketServer } from './web-socket-server.ts';

const RAMP_MS = 200;
const RESUMES = 5;

export interface GatewayPart extends Part {
  readonly fanOuts: readonly FanOutTarget[];
  resume(signal: AbortSignal): Promise<ResumeResult>;
}

export interface FanOutTarget {
  readonly name: TargetName;
  measure(slice: Slice): Promise<FanOutResult>;
}

export interface GatewayPartOptions {
  readonly cores: Cores | undefined;
  readonly sizes: Sizes;
  readonly signal: AbortSignal;
}

export async function openGatewayPart(options: GatewayPartOptions): Promise<GatewayPart> {
  const { cores, sizes } = options;
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const start = async (program: Program) =>
    opened.use(await WebSocketServer.start(onProxyCore(program, cores), options.signal));
  const gateway = await start(await gatewayProgram(folder.path, []));
  const bare = await start(ownProgram('coordination/bare-fan-out.ts'));
  const clients = opened.use(await Clients.start(cores));
  const fanOut = (name: TargetName, { address, pid }: WebSocketServer): FanOutTarget => ({
    name,
    measure: ({ measureMs, signal }) => {
      const { subscribers } = sizes;
      return clients.run({ kind: 'fan_out', address, subscribers, measureMs, pid }, signal);
    },
  });
  const { address, pid } = gateway;
  const load = { connections: IN_FLIGHT, rampMs: RAMP_MS };
  const kept = opened.move();
  return {
    targets: [
      {
        cell: 'gateway.lock_token',
        name: 'starloom',
        measure: ({ measureMs, signal }) =>
          clients.run({ kind: 'update', address, ...load, measureMs, pid }, signal),
      },
    ],
    fanOuts: [fanOut('starloom', gateway), fanOut('bare', bare)],
    resume: (signal) => {
      const { missedEvents: events } = sizes;
      return clients.run({ kind: 'resume', address, events, times: RESUMES }, signal);
    },
    versions: {},
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
