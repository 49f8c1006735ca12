import { describe, expect, it } from 'vitest';
import { describeMoment } from '../../src/plugins/time/index.ts';
import { openPlugin } from './open-plugin.ts';

const MOMENT = Date.UTC(2026, 0, 31, 23, 5, 9);

describe('the time plugin', () => {
  it.each([
    ['UTC', '2026-01-31T23:05:09+00:00', 'Saturday'],
    ['Europe/Vienna', '2026-02-01T00:05:09+01:00', 'Sunday'],
    ['Asia/Kathmandu', '2026-02-01T04:50:09+05:45', 'Sunday'],
    ['America/St_Johns', '2026-01-31T19:35:09-03:30', 'Saturday'],
  ])('says what time it is in %s', (zone, time, weekday) => {
    expect(describeMoment(MOMENT, zone)).toEqual({ time, weekday, zone, unix_ms: MOMENT });
  });

  it('says so for now, in the zone of the agent or another', async () => {
    await using time = await openPlugin('time', {
      folder: '/',
      config: { zone: 'Asia/Taipei' },
    });
    const before = Date.now();
    const now = (await time.run('time:now')) as { zone: string; time: string; unix_ms: number };
    expect(now.zone).toBe('Asia/Taipei');
    expect(Date.parse(now.time)).toBe(Math.floor(now.unix_ms / 1_000) * 1_000);
    expect(now.unix_ms).toBeGreaterThanOrEqual(before);
    expect(await time.run('time:now', { zone: 'UTC' })).toMatchObject({ zone: 'UTC' });
    expect([...time.tools.keys()]).toEqual(['time:now']);
  });

  it('knows no zone that there is not, in calls and in its configuration', async () => {
    await using time = await openPlugin('time', { folder: '/' });
    const refused = expect.objectContaining({ code: 'BAD_INPUT' });
    await expect(time.run('time:now', { zone: 'Mars/Base' })).rejects.toThrow(refused);
    const wrong = openPlugin('time', { folder: '/', config: { zone: 'Mars/Base' } });
    await expect(wrong).rejects.toThrow(refused);
  });
});
