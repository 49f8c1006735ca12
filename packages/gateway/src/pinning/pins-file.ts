// `pins.json`: what operators approved of each agent, and what waits for approval. Gateways that share the
// state folder share it; commands change it, and a gateway that runs follows within a second. Gateways of a
// realm share what is approved (`sharedPins`); what waits is each gateway's own, for each asks the agents.

import { join } from 'node:path';
import { agentIdSchema, capabilityNameSchema, HOLD_REASONS, type Json } from '@starloom/core';
import {
  changeState,
  readState,
  type SharedEntries,
  type SharedFile,
  type StateFileOptions,
} from '@starloom/identity';
import { z } from 'zod';
import { failure } from '../reasons.ts';

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

const fileSchema = z.strictObject({
  version: z.literal(1),
  agents: z.array(agentSchema),
  /** Of agents that were removed from a realm: pins made before do not come back from other gateways. */
  forgotten: z.record(agentIdSchema, z.iso.datetime()).optional(),
});

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

/** Approved fingerprints by agent and capability. */
export type Approved = ReadonlyMap<string, ReadonlyMap<string, string>>;

export function toApproved({ agents }: PinsFile): Approved {
  return new Map(
    agents.map(({ agent_id, pins }) => [
      agent_id,
      new Map(pins.map(({ definition, fingerprint }) => [definition.name, fingerprint])),
    ]),
  );
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
    if (!agent || approved.length < shown.length)
      throw failure('changed_again', { agent_id: agentId });
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
export async function forgetPins(
  stateFolder: string,
  agentId: string,
  { isShared, now }: { readonly isShared: boolean; readonly now: number },
): Promise<void> {
  const at = new Date(now).toISOString();
  await changeState(pinsFile(stateFolder), (file) => {
    const isKnown = file.agents.some(({ agent_id }) => agent_id === agentId);
    const left = isKnown ? withAgent(file, agentId) : file;
    return isShared ? { ...left, forgotten: { ...left.forgotten, [agentId]: at } } : left;
  });
}

const sharedSchema = z.object({
  pins: z.array(pinSchema.extend({ server: hash })),
  forgotten_at: z.iso.datetime().optional(),
});

type SharedPin = z.output<typeof sharedSchema>['pins'][number];
type SharedAgent = z.output<typeof sharedSchema>;

/**
 * What is approved at one gateway of a realm is approved at all. A pin counts where the operator wrote the
 * same about the capability: a gateway with another manifest has pins of its own beside it.
 */
export function sharedPins(change: SharedFile<PinsFile>['change']): SharedFile<PinsFile> {
  return {
    name: 'pins',
    what: 'approved tools',
    change,
    merge: (file, shared) =>
      [...shared].reduce((merged, [agentId, value]) => {
        const { data } = sharedSchema.safeParse(value);
        return data ? withShared(merged, agentId, data) : merged;
      }, file),
    toEntries,
  };
}

function withShared(file: PinsFile, agentId: string, shared: SharedAgent): PinsFile {
  const known = file.forgotten?.[agentId] ?? '';
  const at = shared.forgotten_at ?? '';
  const forgotten = at > known ? at : known;
  const own = file.agents.find(({ agent_id }) => agent_id === agentId);
  const isKept = (pin: Pin) => pin.approved_at > forgotten;
  const left = own?.pins.every((pin) => !isKept(pin)) && own.pins.length > 0 ? undefined : own;
  const theirs = shared.pins
    .filter(isKept)
    .toSorted((a, b) => compare(b.approved_at, a.approved_at));
  const server = left?.server ?? theirs[0]?.server;
  const pins = new Map(left?.pins.filter(isKept).map((pin) => [pin.definition.name, pin]));
  for (const { server: of, ...pin } of theirs) {
    const mine = pins.get(pin.definition.name);
    const isNews = mine ? mine.source === pin.source && isStronger(pin, mine) : true;
    if (of === server && isNews) pins.set(pin.definition.name, pin);
  }
  const isSame =
    left === own &&
    pins.size === (own?.pins.length ?? 0) &&
    own?.pins.every((pin) => pins.get(pin.definition.name) === pin) !== false;
  const entry =
    server === undefined || pins.size + (left?.held.length ?? 0) === 0
      ? undefined
      : { agent_id: agentId, server, pins: [...pins.values()], held: left?.held ?? [] };
  const merged = isSame ? file : withAgent(file, agentId, entry);
  if (at <= known) return merged;
  return { ...merged, forgotten: { ...merged.forgotten, [agentId]: at } };
}

function toEntries({ agents, forgotten = {} }: PinsFile, shared: SharedEntries): SharedEntries {
  const own = new Map(agents.map((agent) => [agent.agent_id, agent]));
  const ids = new Set([...own.keys(), ...Object.keys(forgotten)]);
  const entries = [...ids].map((agentId): [string, Json] => {
    const { data } = sharedSchema.safeParse(shared.get(agentId));
    const at = forgotten[agentId];
    const pins = new Map<string, SharedPin>();
    const add = (pin: SharedPin) => {
      const key = `${pin.definition.name} ${pin.server} ${pin.source}`;
      const known = pins.get(key);
      if (pin.approved_at > (at ?? '') && (!known || isStronger(pin, known))) pins.set(key, pin);
    };
    data?.pins.forEach(add);
    const { server = '', pins: mine = [] } = own.get(agentId) ?? {};
    for (const pin of mine) add({ ...pin, server });
    const sorted = [...pins].toSorted(([a], [b]) => compare(a, b)).map(([, pin]) => pin);
    return [agentId, { pins: sorted, ...(at !== undefined && { forgotten_at: at }) } as Json];
  });
  return new Map(entries.filter(([id, entry]) => id in forgotten || hasPins(entry)));
}

function hasPins(entry: Json): boolean {
  return (entry as unknown as SharedAgent).pins.length > 0;
}

/** An operator's word is stronger than a manifest, and that than a first use; of two first uses the first. */
function isStronger(one: Pin, other: Pin): boolean {
  const [rank, otherRank] = [rankOf(one), rankOf(other)];
  if (rank !== otherRank) return rank > otherRank;
  const order = compare(one.approved_at, other.approved_at);
  if (order !== 0) return rank === 0 ? order < 0 : order > 0;
  return one.fingerprint < other.fingerprint;
}

function rankOf({ approved_by }: Pin): number {
  if (approved_by === 'first_use') return 0;
  return approved_by === 'manifest' ? 1 : 2;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
