import { capabilityNameSchema } from './manifest.ts';
import { sha256Hex } from './sha256.ts';

const MAX_NAME = 64;

/** The name as it is, where it may be one of ours; else the hash keeps apart what mapping joins. */
export function toCapabilityName(name: string): string {
  if (capabilityNameSchema.safeParse(name).success) return name;
  const hash = sha256Hex(name).slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_.:-]/g, '-').slice(0, MAX_NAME - 9)}-${hash}`;
}
