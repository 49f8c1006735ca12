/** The deepest JSON that is passed on; every writer of JSON after us recurses over it. */
export const MAX_JSON_DEPTH = 128;

/** Whether arrays and objects nest deeper than `limit`. */
export function exceedsDepth(value: unknown, limit: number = MAX_JSON_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  return Object.values(value).some((inner) => exceedsDepth(inner, limit - 1));
}
