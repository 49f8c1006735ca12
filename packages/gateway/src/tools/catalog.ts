// Every tool a client can list and call: one per capability, and our own in toolsets. Built once and
// again when agents change (`tool-lists.ts`); a lookup is one map access.

import { normalName, type ToolNameStyle } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Tool, ToolDefinition } from './tool.ts';
import { type BuiltTools, buildTools, type CatalogOptions, type Toolset } from './tool-lists.ts';

export class GatewayTools {
  readonly #options: CatalogOptions;
  /** Names that look alike and were reported. */
  readonly #alike = new Set<string>();
  #built: BuiltTools | undefined;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  /** What the caller may use: agents' tools first, by name; then ours. */
  list(
    style: ToolNameStyle,
    toolsets: readonly Toolset[],
    principal: Principal,
  ): readonly ToolDefinition[] {
    return this.#current().lists.shownTo(style, toolsets, principal).definitions;
  }

  /** The same as JSON; bytes where it is large. */
  listJson(
    style: ToolNameStyle,
    toolsets: readonly Toolset[],
    principal: Principal,
  ): string | Buffer {
    return this.#current().lists.shownTo(style, toolsets, principal).json;
  }

  /** By any spelling, listed or not; `undefined` also when the caller may not use it. */
  find(name: string, principal: Principal): Tool | undefined {
    const tool = this.#named(name);
    return tool?.mayUse(principal) ? tool : undefined;
  }

  /** For a name that is not known: the tool that was probably meant, of those the caller may use. */
  nearest(name: string, principal: Principal): string | undefined {
    return this.#current().lists.nearest(name, principal);
  }

  /** Which rule of the policy makes a tool look unknown to the caller. */
  hiddenBy(name: string, principal: Principal): string | undefined {
    return this.#named(name)?.hiddenBy?.(principal);
  }

  /** A tool of ours, also one that a caller may not use. */
  findOwn(name: string): Tool | undefined {
    return this.#current().own.get(name);
  }

  #named(name: string): Tool | undefined {
    const { byName } = this.#current();
    return byName.get(name) ?? byName.get(normalName(name));
  }

  /** Agents, or what they serve, changed. */
  invalidate(): void {
    this.#built = undefined;
  }

  #current(): BuiltTools {
    this.#built ??= buildTools(this.#options, this.#alike);
    return this.#built;
  }
}
