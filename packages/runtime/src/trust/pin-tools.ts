import { type Log, silentLog } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { ToolSource } from '../core/seams.ts';
import { signsIn } from './notes.ts';
import type { SeenTool, ToolPins } from './tool-pins.ts';
import { isForeign, sourceOf } from './tool-source.ts';

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

/** `owners` also names those who offer nothing any more. */
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
      warn(
        tool,
        offered.find(({ name }) => name === tool.name),
        log,
      );
    }
  }
  return tools.map((tool) => {
    const safe = seen.get(tool.name);
    if (!safe) return tool;
    const { description, parameters } = safe;
    return {
      ...tool,
      description,
      parameters,
      execute: (args, context) => tool.execute(args, context),
    };
  });
}

function warn({ name, changed }: SeenTool, given: ITool | undefined, log: Log): void {
  const signs = signsIn(`${given?.description}\n${JSON.stringify(given?.parameters)}`);
  const fields = { source: given?.source, tool: name, signs };
  if (changed) log.warn(fields, 'a tool describes itself differently than when it was first seen');
  else if (signs.length > 0) log.warn(fields, 'the description of a tool speaks to the model');
}
