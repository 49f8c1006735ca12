import { isRecord, type Json } from '../json.ts';

/** What a vendor says of a part, by vendor; `undefined` when it says nothing. */
export function metadataOf({ providerMetadata }: Json): Json | undefined {
  const isTelling = isRecord(providerMetadata) && Object.keys(providerMetadata).length > 0;
  return isTelling ? providerMetadata : undefined;
}

/** What came later adds to what came before, vendor by vendor. */
export function mergeMetadata(before: Json | undefined, later: Json | undefined): Json | undefined {
  if (before === undefined || later === undefined) return later ?? before;
  const merged: Record<string, unknown> = { ...before };
  for (const [vendor, fields] of Object.entries(later)) {
    const known = merged[vendor];
    merged[vendor] = isRecord(known) && isRecord(fields) ? { ...known, ...fields } : fields;
  }
  return merged;
}
