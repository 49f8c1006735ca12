import type { Json } from '@starloom/core';
import { z } from 'zod';
import type { CoordinationStore, Snapshot } from '../coordination-store.ts';
import { jsonObjectSchema } from '../json/json.ts';
import { AGENTS, keyOf } from '../partitions.ts';

/** What an agent may say of itself; `inactive` is said by the registry alone. */
export const LIVE_STATES = ['active', 'idle', 'busy', 'draining'] as const;
export const agentStateSchema = z.enum([...LIVE_STATES, 'inactive']).meta({ title: 'AgentState' });
export type AgentState = z.infer<typeof agentStateSchema>;

export const capabilityNameSchema = z.string().regex(/^[A-Za-z0-9_.:/-]{1,128}$/);
export const capabilitySchema = z
  .strictObject({
    name: capabilityNameSchema,
    version: z.string().max(64).optional(),
    description: z.string().max(2_000).optional(),
    parameters: jsonObjectSchema.optional(),
  })
  .meta({ title: 'AgentCapability' });
export type AgentCapability = z.infer<typeof capabilitySchema>;

export const servedInstanceSchema = z.object({ node_id: z.string(), epoch: z.int() });
/** The registration of an agent in the directory of the gateway. */
export type ServedInstance = z.infer<typeof servedInstanceSchema>;

export const agentRecordSchema = z
  .object({
    agent_id: z.string(),
    name: z.string(),
    capabilities: z.array(capabilitySchema),
    metadata: jsonObjectSchema,
    status: agentStateSchema,
    epoch: z.number(),
    registered_at: z.number(),
    last_seen: z.number(),
    /** How it became known: by registering, by joining a session, or by the gateway's registry. */
    source: z.enum(['registered', 'joined', 'gateway']).default('registered'),
    instance: servedInstanceSchema.optional().describe('As what the gateway serves its calls'),
  })
  .meta({ title: 'Agent' });
export type AgentRecord = z.infer<typeof agentRecordSchema>;

export interface StoredAgent {
  readonly record: AgentRecord;
  readonly version: number;
}

export async function readAgent(
  store: CoordinationStore,
  agentId: string,
): Promise<StoredAgent | undefined> {
  return agentIn(await store.read(AGENTS, [keyOf.agent(agentId)]), agentId);
}

export function agentIn({ entries }: Snapshot, agentId: string): StoredAgent | undefined {
  const entry = entries.get(keyOf.agent(agentId));
  return entry && { record: agentRecordSchema.parse(entry.value), version: entry.version };
}

export function toJson(record: AgentRecord): Json {
  return JSON.parse(JSON.stringify(record));
}

export function isOffering(record: AgentRecord, capability: string): boolean {
  return record.status !== 'inactive' && namesOf(record).includes(capability);
}

export function namesOf({ capabilities }: AgentRecord): readonly string[] {
  return capabilities.map(({ name }) => name);
}
