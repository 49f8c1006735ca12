import { signal } from '@preact/signals';

/** Ticks every second while the page is seen: ages are shown against it. */
export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    now.value = Date.now();
  });
}

export function toMs(at: number | string): number {
  return typeof at === 'number' ? at : Date.parse(at);
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const day = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: '2-digit' });

export function timeOfDay(at: number | string): string {
  return clock.format(toMs(at));
}

export function dayAndTime(at: number | string): string {
  const ms = toMs(at);
  return Number.isNaN(ms) ? '–' : `${day.format(ms)} ${clock.format(ms)}`;
}

export function inUtc(at: number | string): string {
  const ms = toMs(at);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

export function ago(ms: number): string {
  const past = Math.max(0, ms);
  if (past < 2_000) return 'now';
  return `${duration(past, true)} ago`;
}

/** Nothing for what is not known. */
export function duration(ms: number | undefined, coarse = false): string {
  if (ms === undefined) return '';
  if (!coarse && ms < 1) return '<1 ms';
  if (!coarse && ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return coarse ? `${Math.floor(s)} s` : `${s.toFixed(s < 10 ? 2 : 1)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return coarse ? `${m} min` : `${m} min ${Math.round(s % 60)} s`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} d`;
}

export function count(value: number): string {
  if (value < 10_000) return String(Math.round(value));
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function percent(part: number, whole = 1): string {
  const value = (part / whole) * 100;
  if (part === 0) return '0 %';
  return value < 10 ? `${value.toFixed(1)} %` : `${Math.round(value)} %`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${(value / 1024).toFixed(1)} KiB`;
  return `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`;
}
