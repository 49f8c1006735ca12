import type { StoreWarning } from '@starloom/coordination';
import {
  type AgentInstance,
  type Clock,
  FabricError,
  HEALTH_STATES,
  type HeldCapability,
  orAborted,
  PROFILE,
} from '@starloom/core';
import { isRegistryOperator } from '@starloom/identity';
import { deadlineSignal } from '@starloom/wire';
import { z } from 'zod';
import type { Breakers } from '../pipeline/breakers.ts';
import { circuitOf } from '../pipeline/instances.ts';
import { type Access, VisibleAgents } from '../pipeline/route.ts';
import { toHeldView, toInstanceViews } from './agents.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

interface HealthDeps extends Access {
  readonly breakers: Breakers;
  readonly clock: Clock;
  readonly version: string;
  /** By what they are for, such as `coordination`. */
  readonly engines: Readonly<Record<string, Engine>>;
}

export function healthTool(deps: HealthDeps): Tool {
  const { registry, breakers, clock, version, engines } = deps;
  const began = clock.monotonic();
  return defineTool({
    name: 'fabric.health',
    title: 'Health of the fabric',
    description: 'Health of the gateway, the registry, the engines behind it and every agent.',
    input: z.strictObject({}),
    output: {
      status: { type: 'string' },
      gateway: { type: 'object' },
      registry: { type: 'object' },
      engines: { type: 'object' },
      agents: { type: 'object' },
    },
    annotations: READ_ONLY,
    async run(_, { principal }) {
      const checked = await Promise.all(
        Object.entries(engines).map(
          async ([name, engine]) => [name, await engineHealth(engine, clock)] as const,
        ),
      );
      const records = new VisibleAgents(principal, deps).list();
      const count = (status: string) =>
        records.filter(({ health }) => health.status === status).length;
      const agents = {
        total: records.length,
        ...Object.fromEntries(HEALTH_STATES.map((status) => [status, count(status)])),
        list: records.map((record) => {
          const { agent_id, node_id } = record.manifest;
          const breaker = (instance: Pick<AgentInstance, 'manifest'>) => ({
            breaker: breakers.state(circuitOf(record, instance)),
          });
          return {
            agent_id,
            node_id,
            ...record.health,
            ...toHeldView(record.held),
            ...breaker(record),
            ...toInstanceViews(record, breaker),
          };
        }),
      };
      // Names of agents that the caller may not see are for operators alone.
      const { held, ...known } = registry.status();
      const registryStatus = isRegistryOperator(principal) && held ? { ...known, held } : known;
      const isEveryEngineWell = checked.every(([, { status }]) => status === 'ok');
      const isUnchanged = records.every(({ held }) => held.every(isExpected));
      const isSound = registryStatus.ok && held === undefined;
      const well = isSound && count('offline') === 0 && isEveryEngineWell && isUnchanged;
      return {
        ok: true,
        status: well ? 'ok' : 'degraded',
        gateway: {
          status: 'ok',
          version,
          profile: PROFILE,
          uptime_s: Math.round((clock.monotonic() - began) / 1000),
        },
        registry: registryStatus,
        engines: Object.fromEntries(checked),
        agents,
      };
    },
  });
}

/** What is new waits by rule; what changed is news. */
function isExpected({ reason }: HeldCapability): boolean {
  return reason === 'new';
}

/** Something that keeps state for the gateway. */
export interface Engine {
  readonly kind: string;
  /** Does a small piece of real work; rejects when the engine cannot. */
  check(): Promise<readonly StoreWarning[]>;
}

type EngineHealth =
  | { readonly kind: string; readonly status: 'ok'; readonly latency_ms: number }
  | {
      readonly kind: string;
      readonly status: 'degraded';
      readonly latency_ms: number;
      readonly reason: string;
      readonly warnings: readonly StoreWarning[];
    }
  | {
      readonly kind: string;
      readonly status: 'offline';
      readonly code: string;
      readonly reason: string;
      readonly fix?: string;
    };

const CHECK_MS = 2_000;

export async function engineHealth(
  { kind, check }: Engine,
  clock: Clock,
  checkMs = CHECK_MS,
): Promise<EngineHealth> {
  using deadline = deadlineSignal({ ms: checkMs });
  const began = clock.monotonic();
  try {
    const warnings = await orAborted(check(), deadline.signal);
    const latency_ms = Math.round(clock.monotonic() - began);
    if (warnings.length === 0) return { kind, status: 'ok', latency_ms };
    const reason = warnings.map(({ problem }) => problem).join('; ');
    return { kind, status: 'degraded', latency_ms, reason, warnings };
  } catch (thrown) {
    const { code, details } = FabricError.from(thrown);
    const reason = String(details.reason ?? 'no_answer');
    const fix = typeof details.fix === 'string' ? { fix: details.fix } : {};
    return { kind, status: 'offline', code, reason, ...fix };
  }
}
