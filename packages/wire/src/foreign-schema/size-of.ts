/** What reading a JSON value once costs, in units of work; not counted further than to `most`. */
export function sizeOf(value: unknown, most = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return 1 + value.length / 32;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && size < most; at += 1) {
      size += 1 / 8 + sizeOf(value[at], most - size);
    }
    return size;
  }
  for (const key in value) {
    if (size >= most) break;
    size += key.length / 32 + sizeOf(value[key as keyof typeof value], most - size);
  }
  return size;
}
