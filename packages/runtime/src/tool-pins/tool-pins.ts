// Which descriptions of foreign tools have been seen, by fingerprint, kept from run to run. The first
// sight of a tool pins it; a later one that differs is a change until a person accepts it. A damaged
// file stops the start: guessing would make every change look like a first sight.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FabricError, type Log, sha256Hex, silentLog } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import { z } from 'zod';
import type { ToolSource } from '../core/seams.ts';
import { signsIn } from '../trust/hidden-text.ts';
import { isForeign, sourceOf } from '../trust/tool-name.ts';
import {
  fingerprintOf,
  sanitiseDescription,
  sanitiseParameters,
  type ToolDefinition,
} from './descriptions.ts';

/** A definition that is safe to show to a model and to a person. */
interface SeenTool extends ToolDefinition {
  readonly fingerprint: string;
  /** It is not what was first seen under this name. */
  readonly changed: boolean;
}

interface ToolPinsOptions {
  readonly file: string;
  /** Sources whose descriptions a person has read. */
  readonly vetted: readonly string[];
}

const fileSchema = z.strictObject({
  version: z.literal(1),
  pins: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
});

export class ToolPins {
  readonly #options: ToolPinsOptions;
  readonly #pins: Map<string, string>;
  readonly #sights = new Map<string, ReadonlyMap<string, SeenTool>>();
  #unvetted: readonly string[] | undefined;

  constructor(options: ToolPinsOptions) {
    this.#options = options;
    this.#pins = readPins(options.file);
  }

  /** Takes in all that `source` offers now, by the names under which its tools are registered. */
  see(source: string, definitions: readonly ToolDefinition[]): SeenTool[] {
    const before = this.#pins.size;
    const seen = definitions.map((definition) => this.#sight(source, definition));
    this.#sights.set(source, new Map(seen.map((tool) => [tool.name, tool])));
    this.#unvetted = undefined;
    if (this.#pins.size > before) this.#write();
    return seen;
  }

  /** A person has looked at the change: what is offered now is the pin from here on. */
  accept(source: string, name: string): void {
    const sights = this.#sights.get(source);
    const sight = sights?.get(name);
    if (!sights || !sight) return;
    this.#pins.set(keyOf(source, name), sight.fingerprint);
    this.#pins.set(`${keyOf(source, name)} effect`, sha256Hex(sight.hint ?? 'act'));
    this.#sights.set(source, new Map(sights).set(name, { ...sight, changed: false }));
    this.#unvetted = undefined;
    this.#write();
  }

  hasChanged(tool: ITool): boolean {
    return isForeign(tool) && (this.#sights.get(sourceOf(tool))?.get(tool.name)?.changed ?? false);
  }

  /** Whose descriptions the model has seen though no operator listed them, or though they changed. */
  unvetted(tool: ITool): readonly string[] {
    const { vetted } = this.#options;
    this.#unvetted ??= [...this.#sights].flatMap(([source, sights]) => {
      const isOpen = sights.size > 0 && !vetted.includes(source);
      return isOpen || [...sights.values()].some(({ changed }) => changed) ? source : [];
    });
    const source = sourceOf(tool);
    const isNew = isForeign(tool) && !vetted.includes(source) && !this.#sights.has(source);
    return isNew ? [...this.#unvetted, source] : this.#unvetted;
  }

  #sight(
    source: string,
    { name, description, parameters, hint = 'act' }: ToolDefinition,
  ): SeenTool {
    const fingerprint = fingerprintOf(source, { name, description, parameters });
    const isPinned = this.#pin(keyOf(source, name), fingerprint);
    // Apart: files of an earlier version have none, and a first sight is no change.
    const isHintPinned = this.#pin(`${keyOf(source, name)} effect`, sha256Hex(hint));
    return {
      name,
      description: sanitiseDescription(description),
      parameters: sanitiseParameters(parameters),
      fingerprint,
      hint,
      changed: !(isPinned && isHintPinned),
    };
  }

  #pin(key: string, value: string): boolean {
    const pinned = this.#pins.get(key) ?? value;
    this.#pins.set(key, pinned);
    return pinned === value;
  }

  #write(): void {
    const { file } = this.#options;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const text = JSON.stringify({ version: 1, pins: Object.fromEntries(this.#pins) }, null, 2);
    writeFileSync(`${file}.new`, `${text}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

function readPins(file: string): Map<string, string> {
  try {
    const text = readFileSync(file, 'utf8');
    return new Map(Object.entries(fileSchema.parse(JSON.parse(text)).pins));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return new Map();
    const fix = 'restore the file, or remove it to look at every tool as new';
    throw new FabricError('BAD_INPUT', 'The pins of tool descriptions cannot be read', {
      cause,
      details: { reason: 'tool_pins_damaged', file, fix },
    });
  }
}

function keyOf(source: string, name: string): string {
  return `${source} ${name}`.toWellFormed();
}

/** The same tools, with descriptions that are safe to show; every foreign one is pinned on first sight. */
export function pinTools(source: ToolSource, pins: ToolPins, log: Log = silentLog): ToolSource {
  let given: readonly ITool[] = [];
  let pinned: readonly ITool[] = [];
  return {
    list() {
      const tools = source.list();
      if (tools.length !== given.length || tools.some((tool, index) => tool !== given[index])) {
        const owners = new Set([...given, ...tools].filter(isForeign).map(sourceOf));
        pinned = pinAll(tools, owners, pins, log);
        given = tools;
      }
      return pinned;
    },
    onChange: (listener) => source.onChange(listener),
    ready: async () => source.ready?.(),
    close: () => source.close(),
  };
}

/** `owners` also names the sources that offer nothing any more. */
function pinAll(
  tools: readonly ITool[],
  owners: ReadonlySet<string>,
  pins: ToolPins,
  log: Log,
): ITool[] {
  const seen = new Map<string, SeenTool>();
  for (const owner of owners) {
    const offered = tools.filter((tool) => sourceOf(tool) === owner);
    for (const tool of pins.see(owner, offered)) {
      seen.set(tool.name, tool);
      const given = offered.find(({ name }) => name === tool.name);
      warn(tool, given, log);
    }
  }
  return tools.map((tool) => {
    const safe = seen.get(tool.name);
    if (!safe) return tool;
    const { description, parameters } = safe;
    const execute: ITool['execute'] = (args, context) => tool.execute(args, context);
    return { ...tool, description, parameters, execute };
  });
}

function warn({ name, changed }: SeenTool, given: ITool | undefined, log: Log): void {
  const signs = signsIn(`${given?.description}\n${JSON.stringify(given?.parameters)}`);
  const fields = { source: given?.source, tool: name, signs };
  if (changed) log.warn(fields, 'a tool describes itself differently than when it was first seen');
  else if (signs.length > 0) log.warn(fields, 'the description of a tool speaks to the model');
}
