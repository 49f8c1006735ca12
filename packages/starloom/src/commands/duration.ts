import { InvalidArgumentError } from 'commander';

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90d`, `12h`, `30m`, `45s` or `0`, in milliseconds. */
export function toDurationMs(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return Number(count) * UNITS[unit as keyof typeof UNITS];
  if (text === '0') return 0;
  throw new InvalidArgumentError('expected a number with s, m, h or d, such as 12h.');
}

/** `45 s`, `12 min`, `3 h` or `2 d`: how long ago a moment was. */
export function ageOf(moment: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 2 * 86_400
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} d`;
}
