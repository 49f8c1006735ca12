/** What reading a JSON value once costs, in units of work. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / 32;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const key in value) size += key.length / 32 + sizeOf(value[key as keyof typeof value]);
  return size;
}
