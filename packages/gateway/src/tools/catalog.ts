// Every tool a client can list and call: our own, and one per capability. Built once and again when
// agents change; a lookup is one map access. Names of ours always win; of two capabilities that
// would be listed alike the later one ends in a hash.

import {
  type Log,
  type Manifest,
  type Registry,
  sha256Hex,
  styleToolName,
  TOOL_NAME_STYLES,
  type ToolNameStyle,
  toolNameSpellings,
  toToolName,
} from '@starloom/core';
import type { AgentDescriptions } from '../agent-descriptions.ts';
import { capabilityTool } from './capability.ts';
import type { CallDeps } from './run-call.ts';
import type { Tool, ToolDefinition } from './tool.ts';

export interface CatalogOptions {
  readonly own: readonly Tool[];
  readonly registry: Registry;
  readonly descriptions: AgentDescriptions;
  readonly deps: CallDeps;
  readonly log: Log;
  readonly expose: 'all' | readonly string[];
  readonly unprefixed: readonly string[];
}

interface Built {
  readonly byName: ReadonlyMap<string, Tool>;
  readonly listed: Readonly<Record<ToolNameStyle, readonly ToolDefinition[]>>;
}

export class ToolCatalog {
  readonly #options: CatalogOptions;
  #built: Built | undefined;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  /** Ours first, then by name. */
  list(style: ToolNameStyle): readonly ToolDefinition[] {
    return this.#current().listed[style];
  }

  /** By any spelling. */
  find(name: string): Tool | undefined {
    return this.#current().byName.get(name);
  }

  /** Agents or what is known of them changed. */
  invalidate(): void {
    this.#built = undefined;
  }

  #current(): Built {
    this.#built ??= build(this.#options);
    return this.#built;
  }
}

function build({
  own,
  registry,
  descriptions,
  deps,
  log,
  expose,
  unprefixed,
}: CatalogOptions): Built {
  const byName = new Map<string, Tool>();
  const listed = { dots: [] as ToolDefinition[], underscores: [] as ToolDefinition[] };
  for (const tool of own) {
    for (const style of TOOL_NAME_STYLES) {
      const name = styleToolName(tool.definition.name, style);
      byName.set(name, tool);
      listed[style].push({ ...tool.definition, name });
    }
  }
  const capabilities = { dots: [] as ToolDefinition[], underscores: [] as ToolDefinition[] };
  for (const { manifest } of registry.list()) {
    if (expose !== 'all' && !expose.includes(manifest.agent_id)) continue;
    const bare = unprefixed.includes(manifest.agent_id);
    for (const capability of descriptions.known(manifest)) {
      const tool = capabilityTool(capability.name, manifest, capability, deps);
      for (const style of TOOL_NAME_STYLES) {
        const wanted = listedName(manifest, capability.name, style, bare);
        const name = byName.has(wanted) ? withHash(wanted, manifest, capability.name) : wanted;
        if (name !== wanted) log.warn({ tool: wanted, listed_as: name }, 'two tools have one name');
        byName.set(name, tool);
        capabilities[style].push({ ...tool.definition, name });
      }
      for (const spelling of toolNameSpellings(manifest.agent_id, capability.name)) {
        if (!byName.has(spelling)) byName.set(spelling, tool);
      }
    }
  }
  for (const style of TOOL_NAME_STYLES) {
    capabilities[style].sort((a, b) => (a.name < b.name ? -1 : 1));
    listed[style].push(...capabilities[style]);
  }
  return { byName, listed };
}

function listedName(manifest: Manifest, capability: string, style: ToolNameStyle, bare: boolean) {
  if (!bare) return toToolName(manifest.agent_id, capability, style);
  return styleToolName(capability.replaceAll(':', '.'), style);
}

function withHash(name: string, { agent_id }: Manifest, capability: string): string {
  return `${name.slice(0, 55)}-${sha256Hex(`${agent_id}/${capability}`).slice(0, 8)}`;
}
