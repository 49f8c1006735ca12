/** The value below which the share `q` of all values lies; `undefined` of none. */
export function quantile(values: readonly number[], q: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

export function median(values: readonly number[]): number | undefined {
  const low = quantile(values, 0.5);
  if (low === undefined || values.length % 2 === 1) return low;
  const below = quantile(values, 0.5 - 1 / values.length);
  return below === undefined ? low : (low + below) / 2;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
