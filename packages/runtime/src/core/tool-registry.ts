// The tools an agent has right now, from all its sources. A name belongs to the source that brought
// it first: a server that starts later cannot take the place of a plugin's tool.

import { closestWord, type Log, orAborted, silentLog } from '@starloom/core';
import type { ITool, PluginParts } from '@starloom/sdk';
import { deadlineSignal } from '@starloom/wire';
import type { ToolSource } from './seams.ts';

const MAX_NEAR_NAMES = 3;
const PATIENCE_MS = 10_000;

type Derive = (tools: ReadonlyMap<string, ITool>) => readonly ITool[];

export class ToolRegistry {
  readonly #log: Log;
  readonly #derive: Derive;
  readonly #sources: ToolSource[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #stops: (() => void)[] = [];
  #tools: ReadonlyMap<string, ITool> | undefined;
  #hasWaited = false;

  /** `derive` adds tools that depend on the others. */
  constructor(sources: Iterable<ToolSource> = [], log: Log = silentLog, derive: Derive = () => []) {
    this.#log = log;
    this.#derive = derive;
    for (const source of sources) this.add(source);
  }

  /** From here on the registry owns the source, and closes it. */
  add(source: ToolSource): void {
    this.#sources.push(source);
    this.#stops.push(source.onChange(() => this.#notifyChanged()));
    this.#notifyChanged();
  }

  /** By name, in the order of the sources. Not to be changed. */
  get tools(): ReadonlyMap<string, ITool> {
    this.#tools ??= this.#collect();
    return this.#tools;
  }

  get(name: string): ITool | undefined {
    return this.tools.get(name);
  }

  /** Waits a while for sources that are still starting; one that hangs blocks no caller forever. */
  async ready(signal: AbortSignal): Promise<void> {
    const starting = this.#sources.flatMap((source) => source.ready?.() ?? []);
    if (starting.length === 0 || this.#hasWaited) return;
    using deadline = deadlineSignal({ ms: PATIENCE_MS, parent: signal });
    await orAborted(Promise.allSettled(starting), deadline.signal).catch(() => {});
    this.#hasWaited = true;
  }

  /** Names that may have been meant: the same last part first, then by spelling. */
  near(name: string): string[] {
    const names = [...this.tools.keys()];
    const found = new Set(names.filter((known) => shortName(known) === shortName(name)));
    for (const spell of [(known: string) => known, shortName]) {
      const spellings = new Map(names.map((known) => [spell(known), known]));
      const meant = spellings.get(closestWord(spell(name), spellings.keys()) ?? '');
      if (meant !== undefined) found.add(meant);
    }
    return [...found].slice(0, MAX_NEAR_NAMES);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Closes every source; one that fails keeps no other open. */
  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    const closing = this.#sources.splice(0).map(async (source) => source.close());
    for (const closed of await Promise.allSettled(closing)) {
      if (closed.status === 'rejected') {
        this.#log.warn({ error: String(closed.reason) }, 'a tool source did not close');
      }
    }
    this.#tools = new Map();
    this.#listeners.clear();
  }

  #collect(): ReadonlyMap<string, ITool> {
    const tools = new Map<string, ITool>();
    for (const tool of this.#sources.flatMap((source) => this.#list(source))) {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
      else this.#log.warn({ tool: tool.name }, 'a second tool of this name is left out');
    }
    for (const tool of this.#derive(tools)) tools.set(tool.name, tool);
    return tools;
  }

  #list(source: ToolSource): readonly ITool[] {
    try {
      return source.list();
    } catch (error) {
      const message = 'a source of tools is left out: it cannot list them';
      this.#log.error({ error: String(error) }, message);
      return [];
    }
  }

  #notifyChanged(): void {
    this.#tools = undefined;
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#log.warn({ error: String(error) }, 'a listener of the tools failed');
      }
    }
  }
}

/** `read_file` of `fs:read_file`. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

/** A source that never changes, such as the tools of a plugin. */
export function fixedSource(tools: readonly ITool[], close?: PluginParts['close']): ToolSource {
  return { list: () => tools, onChange: () => () => {}, close: async () => close?.() };
}
