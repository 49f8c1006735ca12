import { type Capability, capabilityNameSchema, capabilitySchema, sha256Hex } from '@starloom/core';
import type { Tool } from './tool-catalog.ts';

const MAX_NAME = 64;

/** A tool of the agent as a capability; a name that is not one of ours stays in `tool`. */
export function toCapability(tool: Tool): Capability {
  const { description, inputSchema, outputSchema } = tool;
  const isOurs = capabilityNameSchema.safeParse(tool.name).success;
  const idempotent = idempotenceOf(tool);
  return capabilitySchema.parse({
    name: isOurs ? tool.name : toCapabilityName(tool.name),
    ...(isOurs ? {} : { tool: tool.name }),
    ...(description === undefined ? {} : { description }),
    ...(inputSchema === undefined ? {} : { input_schema: inputSchema }),
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
    ...(idempotent === undefined ? {} : { idempotent }),
  });
}

/** The hash keeps apart what the mapping would bring together. */
function toCapabilityName(name: string): string {
  const hash = sha256Hex(name).slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_.:-]/g, '-').slice(0, MAX_NAME - 9)}-${hash}`;
}

function idempotenceOf({ annotations }: Tool): boolean | undefined {
  if (annotations.readOnlyHint === true) return true;
  const hint = annotations.idempotentHint;
  return typeof hint === 'boolean' ? hint : undefined;
}
