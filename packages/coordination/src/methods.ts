// The table: every method there is. It validates requests and generates docs/coordination.md and
// openapi.json. No method sends a message from one agent to another, on purpose: agents communicate
// through the context, where every member of the session sees it.

import { z } from 'zod';
import { jsonObjectSchema } from './json/json.ts';
import { agentRegistryMethods } from './methods/agent-registry.ts';
import { contextCoordinatorMethods } from './methods/context-coordinator.ts';
import {
  defineMethod,
  describeTable,
  type Method,
  type MethodDescription,
  request,
  time,
} from './methods/define-method.ts';
import { memoryLockerMethods } from './methods/memory-locker.ts';
import { sessionManagerMethods } from './methods/session-manager.ts';
import { sharedBufferMethods } from './methods/shared-buffer.ts';
import { toolCacheMethods } from './methods/tool-cache.ts';

export const PROTOCOL_VERSION = '1.0.0';

/** The paths under which each service is also reached on its own. */
export const SERVICE_PATHS = {
  agent_registry: '/agent-registry',
  context_coordinator: '/context-coordinator',
  memory_locker: '/memory-locker',
  tool_cache: '/tool-cache',
  shared_buffer: '/shared-buffer',
  session_manager: '/session-manager',
} as const;

const SERVICES = Object.keys(SERVICE_PATHS) as (keyof typeof SERVICE_PATHS)[];

const discoveryMethods = {
  'mcp.discover': defineMethod({
    summary: 'The version of the protocol, and where the services are',
    params: request({}),
    result: z.object({
      protocol_version: z.string(),
      services: z.record(z.string(), z.string()),
    }),
    errors: [],
    effect: 'read',
    needsAgent: () => false,
    run: async () => ({ protocol_version: PROTOCOL_VERSION, services: SERVICE_PATHS }),
  }),

  'mcp.status': defineMethod({
    summary: 'Whether the services can do their work: the store has to write',
    params: request({}),
    result: z.object({
      ok: z.literal(true),
      at: time,
      heartbeat_interval_ms: z.number(),
      warnings: z
        .array(z.object({ problem: z.string(), fix: z.string() }))
        .describe('Why the store may lose something although it works'),
    }),
    errors: [],
    effect: 'read',
    needsAgent: () => false,
    run: async ({ services: { store, clock, heartbeatIntervalMs } }) => {
      const warnings = [...(await store.check())];
      return {
        ok: true as const,
        at: clock.now(),
        heartbeat_interval_ms: heartbeatIntervalMs,
        warnings,
      };
    },
  }),
};

function describeMethod(table: Readonly<Record<string, Method>>) {
  return defineMethod({
    summary: 'The methods with parameters and results, as JSON Schemas',
    params: request({
      service: z.enum(SERVICES).optional().describe('Only those of one service'),
    }),
    result: z.object({
      methods: z.array(
        z.object({
          name: z.string(),
          summary: z.string(),
          params: jsonObjectSchema,
          result: jsonObjectSchema,
        }),
      ),
    }),
    errors: [],
    effect: 'read',
    needsAgent: () => false,
    run: async (_, { service }) => {
      const all = describeTable(table);
      const wanted = all.filter((method) => service === undefined || method.service === service);
      const methods = wanted.map(({ name, summary, params, result }) => {
        return { name, summary, params, result };
      });
      return { methods };
    },
  });
}

const SERVICE_METHODS = {
  ...agentRegistryMethods,
  ...sessionManagerMethods,
  ...contextCoordinatorMethods,
  ...memoryLockerMethods,
  ...toolCacheMethods,
  ...sharedBufferMethods,
} as const;

export const METHODS = {
  ...discoveryMethods,
  'mcp.describe': describeMethod(SERVICE_METHODS),
  ...SERVICE_METHODS,
} as const;

/** The file that describes them as OpenAPI; `npm run docs` writes it. */
export const OPEN_API_URL = new URL('../openapi.json', import.meta.url);

export type MethodName = keyof typeof METHODS;

const BY_NAME: ReadonlyMap<string, Method> = new Map(Object.entries(METHODS));

export function findMethod(name: string): Method | undefined {
  return BY_NAME.get(name);
}

/** Every method with parameters, result and errors, for documentation and tools. */
export function describeMethods(): readonly MethodDescription[] {
  return describeTable(METHODS);
}
