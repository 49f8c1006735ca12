import { type Capability, capabilityNameSchema, capabilitySchema, sha256Hex } from '@starloom/core';
import type { Tool } from './tool-catalog.ts';

const MAX_NAME = 64;

/** A tool of the agent as a capability; a name that is not one of ours stays in `tool`. */
export function toCapability(tool: Tool): Capability {
  const { name, capability, title, description, inputSchema, outputSchema, annotations } = tool;
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
  });
}

/** The name as it is, where it may be one of ours; else the hash keeps apart what mapping joins. */
export function toCapabilityName(name: string): string {
  if (capabilityNameSchema.safeParse(name).success) return name;
  const hash = sha256Hex(name).slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_.:-]/g, '-').slice(0, MAX_NAME - 9)}-${hash}`;
}

function idempotenceOf({ annotations }: Tool): boolean | undefined {
  if (annotations.readOnlyHint === true) return true;
  const hint = annotations.idempotentHint;
  return typeof hint === 'boolean' ? hint : undefined;
}
