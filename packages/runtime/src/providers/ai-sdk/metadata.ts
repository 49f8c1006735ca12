import { type Fields, isObject } from '@starloom/core';

/** What a vendor says of a part, by vendor; `undefined` when it says nothing. */
export function metadataOf({ providerMetadata }: Readonly<Fields>): Readonly<Fields> | undefined {
  const isTelling = isObject(providerMetadata) && Object.keys(providerMetadata).length > 0;
  return isTelling ? providerMetadata : undefined;
}

/** What came later adds to what came before, vendor by vendor. */
export function mergeMetadata(
  before: Readonly<Fields> | undefined,
  later: Readonly<Fields> | undefined,
): Readonly<Fields> | undefined {
  if (before === undefined || later === undefined) return later ?? before;
  const merged: Record<string, unknown> = { ...before };
  for (const [vendor, fields] of Object.entries(later)) {
    const known = merged[vendor];
    merged[vendor] = isObject(known) && isObject(fields) ? { ...known, ...fields } : fields;
  }
  return merged;
}
