// Builds the catalog of tools from what agents serve, and the lists of it that clients ask for. Our names
// always win. Where two capabilities share a spelling, both are listed with a hash at the end and the
// bare spelling is unknown.

import {
  type AgentRecord,
  type Capability,
  capabilitySchema,
  hashToolName,
  lookAlikes,
  type Manifest,
  normalName,
  RecentMap,
  sha256Hex,
  styleToolName,
  suggestionFor,
  TOOL_NAME_STYLES,
  type ToolNameStyle,
  toolNameSpellings,
  toToolName,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { JobCalls } from '../jobs/job-calls.ts';
import { uiResourceOf } from '../mcp/names.ts';
import type { CallDeps } from '../pipeline/call.ts';
import { capabilityTool } from './capability.ts';
import type { Tool, ToolDefinition } from './tool.ts';

/** In the order they are listed. */
export const TOOLSETS = [
  'agents',
  'fabric',
  'jobs',
  'registry',
  'journal',
  'coordination',
] as const;
export type Toolset = (typeof TOOLSETS)[number];

export interface CatalogOptions {
  /** Our own tools. */
  readonly own: Readonly<Partial<Record<Toolset, readonly Tool[]>>>;
  readonly deps: CallDeps;
  readonly jobs?: JobCalls | undefined;
  readonly expose: 'all' | readonly string[];
}

/** Names that a misspelt one is compared with. */
const MAX_COMPARED = 1_000;
/** Lists that are kept, with their JSON. */
const MAX_LISTS = 32;

interface ListedTool {
  readonly name: string;
  readonly tool: Tool;
}

type Listed = Readonly<Record<Toolset, readonly ListedTool[]>>;

/** Every tool by its names, and the lists of them. */
export interface BuiltTools {
  readonly own: ReadonlyMap<string, Tool>;
  readonly byName: ReadonlyMap<string, Tool>;
  readonly lists: ToolLists;
}

/** Longer texts are kept as bytes: writing them costs less. */
const MAX_TEXT = 64 * 1024;

class Shown {
  readonly definitions: readonly ToolDefinition[];
  #json: string | Buffer | undefined;

  constructor(definitions: readonly ToolDefinition[]) {
    this.definitions = definitions;
  }

  /** Made when it is first written. */
  get json(): string | Buffer {
    if (this.#json === undefined) {
      const text = JSON.stringify(this.definitions);
      this.#json = text.length > MAX_TEXT ? Buffer.from(text) : text;
    }
    return this.#json;
  }
}

class ToolLists {
  readonly listed: Readonly<Record<ToolNameStyle, Listed>>;
  /** Under which key its list stands in `#shown`, by caller, then by style and toolsets. */
  readonly #keys = new WeakMap<Principal, Map<string, string>>();
  /** Once for all callers that may use the same tools. */
  readonly #shown = new RecentMap<Shown>(MAX_LISTS);

  constructor(listed: Readonly<Record<ToolNameStyle, Listed>>) {
    this.listed = listed;
  }

  /** Made once and again when agents change: clients ask for the same list often. */
  shownTo(style: ToolNameStyle, toolsets: readonly Toolset[], principal: Principal): Shown {
    const wanted = `${style} ${toolsets.join()}`;
    const known = this.#shown.get(this.#keys.get(principal)?.get(wanted) ?? '');
    if (known) return known;
    const tools = TOOLSETS.filter((toolset) => toolsets.includes(toolset))
      .flatMap((toolset) => this.listed[style][toolset])
      .filter(({ tool }) => tool.mayUse(principal));
    const key = sha256Hex(tools.map(({ name }) => name).join('\n'));
    const list =
      this.#shown.get(key) ??
      new Shown(tools.map(({ tool, name }) => ({ ...tool.definition, name })));
    this.#shown.set(key, list);
    const own = this.#keys.get(principal) ?? new Map<string, string>();
    this.#keys.set(principal, own.set(wanted, key));
    return list;
  }

  nearest(name: string, principal: Principal): string | undefined {
    const { definitions } = this.shownTo('dots', TOOLSETS, principal);
    const names = definitions.slice(0, MAX_COMPARED).map((tool) => tool.name);
    return suggestionFor(name, names);
  }
}

/** A capability as a tool, before it is known which of its names are its own. */
interface Entry {
  readonly tool: Tool;
  readonly manifest: Manifest;
  readonly capability: Capability;
  readonly key: string;
  /** The name to list where another tool has it too. */
  readonly hashed: (name: string) => string;
  readonly isListed: boolean;
  readonly wanted: Readonly<Record<ToolNameStyle, string>>;
  readonly spellings: readonly string[];
}

export function buildTools(options: CatalogOptions, alike: Set<string>): BuiltTools {
  const { own, deps } = options;
  const byName = new Map<string, Tool>();
  const listed = { dots: emptyList(), underscores: emptyList() };
  for (const toolset of TOOLSETS) {
    for (const tool of own[toolset] ?? []) {
      for (const style of TOOL_NAME_STYLES) {
        const name = styleToolName(tool.definition.name, style);
        byName.set(name, tool);
        listed[style][toolset].push({ tool, name });
      }
    }
  }
  const ours = new Map(byName);
  const entries = entriesOf(options);
  const owners = ownersOf(entries);
  const isFree = (name: string) => !byName.has(name) && owners.get(name)?.size === 1;
  const free = entries.map(({ wanted, spellings }) => ({
    dots: isFree(wanted.dots),
    underscores: isFree(wanted.underscores),
    spellings: spellings.filter(isFree),
  }));
  for (const [index, { tool, hashed, isListed, wanted }] of entries.entries()) {
    for (const style of TOOL_NAME_STYLES) {
      const isOwn = free[index]?.[style] ?? false;
      const name = isOwn ? wanted[style] : hashed(wanted[style]);
      if (!isOwn)
        deps.log.debug({ tool: wanted[style], listed_as: name }, 'two tools share a name');
      byName.set(name, tool);
      if (isListed) listed[style].agents.push({ tool, name });
    }
    for (const spelling of free[index]?.spellings ?? []) byName.set(spelling, tool);
  }
  for (const [name, tools] of namesInApps(options, entries)) {
    const [tool] = tools;
    if (tool && tools.length === 1 && !byName.has(name)) byName.set(name, tool);
  }
  for (const style of TOOL_NAME_STYLES) {
    listed[style].agents.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  warnOfAlike(listed.dots, deps, alike);
  return { own: ours, byName, lists: new ToolLists(listed) };
}

/**
 * Without the name of its agent, a tool can be taken for one of ours or of another agent. `alike` has
 * the names that were reported.
 */
function warnOfAlike(listed: Listed, { unprefixed, log }: CallDeps, alike: Set<string>): void {
  if (unprefixed.length === 0) return;
  const lists = Object.values(listed).flat();
  const all = lists.map(({ name }) => name);
  for (const names of lookAlikes(all)) {
    if (alike.has(names.join())) continue;
    alike.add(names.join());
    const fix = 'exclude one of them, or take its agent out of mcp.unprefixed';
    log.warn({ names, fix }, 'names of tools look alike');
  }
}

function entriesOf({ deps, jobs, expose }: CatalogOptions): readonly Entry[] {
  const { registry, discovery, unprefixed } = deps;
  const exposed = registry
    .list()
    .filter(({ manifest }) => expose === 'all' || expose.includes(manifest.agent_id));
  return exposed.flatMap(({ manifest, capabilities, held }) => {
    const isBare = unprefixed.includes(manifest.agent_id);
    // A call of a capability that waits for approval is answered with why it is not served.
    const waiting = held.map(({ name }) => capabilitySchema.parse({ name }));
    return [...capabilities, ...waiting].map((capability) => {
      const wanted = wantedNames(manifest, capability.name, isBare);
      const spellings = toolNameSpellings(manifest.agent_id, capability.name);
      return {
        tool: capabilityTool(capability.name, manifest, capability, deps, jobs),
        manifest,
        capability,
        key: `${manifest.agent_id}/${capability.name}`,
        hashed: (name: string) => hashToolName(name, manifest.agent_id, capability.name),
        isListed: !waiting.includes(capability) && discovery.isListed(manifest, capability),
        wanted,
        spellings: [...new Set([wanted.dots, wanted.underscores, ...spellings])],
      };
    });
  });
}

/** A user interface of an agent calls tools by the agent's own names for them. */
function namesInApps(
  { deps: { registry } }: CatalogOptions,
  entries: readonly Entry[],
): ReadonlyMap<string, Tool[]> {
  const hasApp = ({ capabilities }: AgentRecord) =>
    capabilities.some(({ mcp }) => uiResourceOf(mcp?._meta) !== undefined);
  const names = new Map<string, Tool[]>();
  const apps = new Set(
    registry.list().flatMap((record) => (hasApp(record) ? record.manifest : [])),
  );
  for (const { tool, manifest, capability } of entries) {
    if (!apps.has(manifest)) continue;
    const name = capability.tool ?? capability.name;
    names.set(name, [...(names.get(name) ?? []), tool]);
  }
  return names;
}

function ownersOf(entries: readonly Entry[]): ReadonlyMap<string, ReadonlySet<string>> {
  const owners = new Map<string, Set<string>>();
  for (const { key, spellings } of entries) {
    for (const spelling of spellings) {
      const keys = owners.get(spelling);
      if (keys) keys.add(key);
      else owners.set(spelling, new Set([key]));
    }
  }
  return owners;
}

function wantedNames(manifest: Manifest, capability: string, isBare: boolean): Entry['wanted'] {
  const bare = normalName(capability);
  const name = (style: ToolNameStyle) =>
    isBare ? styleToolName(bare, style) : toToolName(manifest.agent_id, capability, style);
  return { dots: name('dots'), underscores: name('underscores') };
}

function emptyList(): Record<Toolset, ListedTool[]> {
  return { agents: [], fabric: [], jobs: [], registry: [], journal: [], coordination: [] };
}
