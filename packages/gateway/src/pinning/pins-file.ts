// `pins.json`: what operators approved of each agent, and what waits for approval. Gateways that share the
// state folder share it; commands change it, and a gateway that runs follows within a second.

import { join } from 'node:path';
import { agentIdSchema, capabilityNameSchema, FabricError, HOLD_REASONS } from '@starloom/core';
import { changeState, readState, type StateFileOptions } from '@starloom/identity';
import { z } from 'zod';

const json = z.record(z.string(), z.unknown());
const hash = z.string().regex(/^[0-9a-f]{64}$/);

const definitionSchema = z.strictObject({
  name: capabilityNameSchema,
  tool: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  input_schema: json.optional(),
  output_schema: json.optional(),
  annotations: json.optional(),
});

const common = { definition: definitionSchema, fingerprint: hash, source: hash };

const pinSchema = z.strictObject({
  ...common,
  approved_at: z.iso.datetime(),
  /** `first_use`, `manifest`, or who ran the command. */
  approved_by: z.string(),
});

const heldSchema = z.strictObject({
  ...common,
  reason: z.enum(HOLD_REASONS),
  like: z.string().optional(),
  seen_at: z.iso.datetime(),
});

const agentSchema = z.strictObject({
  agent_id: agentIdSchema,
  server: hash,
  pins: z.array(pinSchema),
  held: z.array(heldSchema),
});

const fileSchema = z.strictObject({ version: z.literal(1), agents: z.array(agentSchema) });

export type Definition = z.output<typeof definitionSchema>;
export type Pin = z.output<typeof pinSchema>;
export type HeldPin = z.output<typeof heldSchema>;
export type AgentPins = z.output<typeof agentSchema>;
export type PinsFile = z.output<typeof fileSchema>;

const EMPTY: PinsFile = { version: 1, agents: [] };

export function pinsFile(stateFolder: string): StateFileOptions<PinsFile> {
  return {
    path: join(stateFolder, 'pins.json'),
    schema: fileSchema,
    empty: EMPTY,
    fix: 'restore it from a backup; or remove it: what agents offer then counts as approved',
  };
}

/** The same file with another entry for an agent; without one when `entry` is undefined. */
export function withAgent(file: PinsFile, agentId: string, entry?: AgentPins): PinsFile {
  const others = file.agents.filter(({ agent_id }) => agent_id !== agentId);
  return { ...file, agents: entry ? [...others, entry] : others };
}

export async function readPins(stateFolder: string): Promise<readonly AgentPins[]> {
  return (await readState(pinsFile(stateFolder))).agents;
}

export interface Approval {
  readonly agentId: string;
  /** What was shown to the operator: a definition that changed since then is not approved. */
  readonly shown: readonly HeldPin[];
  readonly by: string;
  readonly now: number;
}

/** Pins what was held; BAD_INPUT when it is not what was shown any more. */
export async function approveHeld(stateFolder: string, approval: Approval): Promise<void> {
  const { agentId, shown, by, now } = approval;
  await changeState(pinsFile(stateFolder), (file) => {
    const agent = file.agents.find(({ agent_id }) => agent_id === agentId);
    const prints = new Map(shown.map((one) => [one.definition.name, one.fingerprint]));
    const isShown = (one: HeldPin | Pin) => prints.get(one.definition.name) === one.fingerprint;
    const approved = agent?.held.filter(isShown) ?? [];
    if (!agent || approved.length < shown.length) throw changedAgain(agentId);
    const at = { approved_at: new Date(now).toISOString(), approved_by: by };
    const pins = approved.map(({ definition, fingerprint, source }) => ({
      ...{ definition, fingerprint, source },
      ...at,
    }));
    return withAgent(file, agentId, {
      ...agent,
      pins: [...agent.pins.filter(({ definition }) => !prints.has(definition.name)), ...pins],
      held: agent.held.filter((one) => !isShown(one)),
    });
  });
}

/** What was approved of an agent that the operator removed: another one of this name starts without pins. */
export async function forgetPins(stateFolder: string, agentId: string): Promise<void> {
  await changeState(pinsFile(stateFolder), (file) =>
    file.agents.some(({ agent_id }) => agent_id === agentId) ? withAgent(file, agentId) : file,
  );
}

function changedAgain(agentId: string): FabricError {
  return new FabricError('BAD_INPUT', `What "${agentId}" offers changed again meanwhile`, {
    details: {
      reason: 'changed_again',
      agent_id: agentId,
      fix: `run "starloom agents approve ${agentId}" again`,
    },
  });
}
