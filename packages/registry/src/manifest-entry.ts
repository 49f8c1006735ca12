import { isDeepStrictEqual } from 'node:util';
import {
  capabilitySchema,
  type Manifest,
  type ManifestInput,
  manifestSchema,
} from '@starloom/core';

/** A manifest as people write it: without what it has by default anyway. */
export function toManifestEntry(manifest: Manifest): ManifestInput {
  const capabilities = manifest.capabilities?.map((capability) =>
    withoutDefaults(capability, (rest) => capabilitySchema.safeParse(rest).data),
  );
  const entry = withoutDefaults(manifest, (rest) => manifestSchema.safeParse(rest).data);
  return capabilities === undefined ? entry : { ...entry, capabilities };
}

function withoutDefaults<Value extends object>(
  value: Value,
  parse: (rest: object) => Partial<Value> | undefined,
): Value {
  const isGiven = ([key, own]: [string, unknown]) => {
    const { [key as keyof Value]: _, ...rest } = value;
    const implied = parse(rest)?.[key as keyof Value];
    return implied === undefined || !isDeepStrictEqual(implied, own);
  };
  return Object.fromEntries(Object.entries(value).filter(isGiven)) as Value;
}
