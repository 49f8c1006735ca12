import { z } from 'zod';
import { jsonObjectSchema } from '../json/json.ts';
import { defineMethod, describeTable, type Method, request } from './define-method.ts';
import { exampleTime, time } from './fields.ts';

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

export const discoveryMethods = {
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
    example: {
      params: {},
      result: { protocol_version: PROTOCOL_VERSION, services: SERVICE_PATHS },
    },
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
    example: {
      params: {},
      result: { ok: true, at: exampleTime, heartbeat_interval_ms: 30_000, warnings: [] },
    },
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

/** The row that shows the rest of the table to agents. */
export function describeMethod(table: Readonly<Record<string, Method>>) {
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
    example: {
      params: { service: 'tool_cache' },
      result: {
        methods: [{ name: 'tool_cache.get', summary: 'A cached result', params: {}, result: {} }],
      },
    },
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
