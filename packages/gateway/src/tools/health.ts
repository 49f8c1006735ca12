import { type Clock, HEALTH_STATES, type HeldCapability, PROFILE } from '@starloom/core';
import { z } from 'zod';
import { type Access, agentsFor } from '../pipeline/authorise.ts';
import type { Breakers } from '../pipeline/breaker.ts';
import { toHeldView } from './agent-view.ts';
import { type Engine, engineHealth } from './engine-health.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

export interface HealthDeps extends Access {
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
      const records = agentsFor(principal, deps).list();
      const count = (status: string) =>
        records.filter(({ health }) => health.status === status).length;
      const agents = {
        total: records.length,
        ...Object.fromEntries(HEALTH_STATES.map((status) => [status, count(status)])),
        list: records.map(({ manifest: { agent_id, node_id }, health, held }) => ({
          agent_id,
          node_id,
          ...health,
          ...toHeldView(held),
          breaker: breakers.state(agent_id),
        })),
      };
      const registryStatus = registry.status();
      const isEveryEngineWell = checked.every(([, { status }]) => status === 'ok');
      const isUnchanged = records.every(({ held }) => held.every(isExpected));
      const well = registryStatus.ok && count('offline') === 0 && isEveryEngineWell && isUnchanged;
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
