import { createRequire } from 'node:module';
import { failure } from './reasons.ts';

/** The next time of a cron expression after a moment, in milliseconds. BAD_INPUT when it is none. */
export function nextCron(cron: string, timezone: string, after: number): number {
  const { CronExpressionParser } = load();
  try {
    const options = { currentDate: new Date(after), tz: timezone };
    return CronExpressionParser.parse(cron, options).next().getTime();
  } catch (cause) {
    throw failure('bad_schedule', { cron, timezone }, { cause });
  }
}

export function isCron(cron: string, timezone: string): boolean {
  try {
    return nextCron(cron, timezone, 0) > 0;
  } catch {
    return false;
  }
}

/** Loaded with the first schedule; most gateways have none. */
function load(): typeof import('cron-parser') {
  return createRequire(import.meta.url)('cron-parser');
}
