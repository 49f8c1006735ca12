import { systemClock } from '@starloom/core';
import { definePlugin, defineTool } from '@starloom/sdk';
import { z } from 'zod';
import { failure } from '../../reasons.ts';

const timeConfigSchema = z.strictObject({
  zone: z.string().min(1).default('UTC').describe('Such as Europe/Vienna'),
});

/** What time it is. */
export default definePlugin({
  name: 'time',
  config: timeConfigSchema,
  setup({ zone: usual }) {
    formatterOf(usual);
    const now = defineTool({
      name: 'time:now',
      description: 'Says date and time, with the weekday, in a time zone.',
      command: 'now',
      effect: 'read',
      untrusted: false,
      parameters: z.strictObject({
        zone: z.string().min(1).max(64).default(usual).describe('Such as Asia/Taipei'),
      }),
      execute: ({ zone }) => describeMoment(systemClock.now(), zone),
    });
    return { tools: [now] };
  },
});

/** A moment as RFC 3339 text in a zone, and what people want to know beside it. */
export function describeMoment(moment: number, zone: string): Record<string, unknown> {
  const parts = new Map(
    formatterOf(zone)
      .formatToParts(moment)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  const date = `${part('year')}-${part('month')}-${part('day')}`;
  const time = `${part('hour')}:${part('minute')}:${part('second')}`;
  const offset = part('timeZoneName').replace(/^GMT/, '') || '+00:00';
  return {
    time: `${date}T${time}${offset}`,
    weekday: part('weekday'),
    zone,
    unix_ms: moment,
  };
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'long',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    });
  } catch (cause) {
    throw failure('bad_zone', { zone: timeZone }, { cause });
  }
}
