import { type Capability, capabilitySchema, isObject } from '@starloom/core';
import type { Tool } from '@starloom/mcp-client';

/** Made once per list: calls compare it with what was approved. */
const capabilities = new WeakMap<Tool, Capability>();

/** A tool of the agent as a capability; a name that is not one of ours stays in `tool`. */
export function toCapability(tool: Tool): Capability {
  const known = capabilities.get(tool);
  if (known) return known;
  const made = parse(tool);
  capabilities.set(tool, made);
  return made;
}

function parse(tool: Tool): Capability {
  const { name, capability, title, description, inputSchema, outputSchema } = tool;
  const { annotations, rest } = tool;
  const idempotent = idempotenceOf(tool);
  return capabilitySchema.parse({
    name: capability,
    ...(capability === name ? {} : { tool: name }),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    input_schema: inputSchema ?? { type: 'object' },
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(Object.keys(rest).length === 0 ? {} : { mcp: rest }),
    ...(needsTask(tool) ? { tasks: {} } : {}),
  });
}

/** Whether an older agent answers calls of the tool with a task alone. */
export function needsTask({ rest: { execution } }: Tool): boolean {
  return isObject(execution) && execution.taskSupport === 'required';
}

function idempotenceOf({ annotations }: Tool): boolean | undefined {
  if (annotations.readOnlyHint === true) return true;
  const hint = annotations.idempotentHint;
  return typeof hint === 'boolean' ? hint : undefined;
}
