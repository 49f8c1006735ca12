import { describe, expect, it } from 'vitest';
import {
  ask,
  failure,
  lastRequest,
  MODES,
  type OpenSubject,
  openWorld,
  toolMap,
} from './provider-subject.ts';

/** How long a test waits for what should come at once. */
const HANG_GUARD_MS = 10_000;

/** A service that fails, hangs or goes away is an error with a code; a cancelled call leaves it. */
export function failuresContract(open: OpenSubject): void {
  describe.each(MODES)('%s failures', (mode) => {
    it.each([
      [401, 'AUTH_DENIED'],
      [403, 'AUTH_DENIED'],
      [404, 'BAD_INPUT'],
      [500, 'UPSTREAM_ERROR'],
      [503, 'AGENT_OFFLINE'],
    ])('map status %i to %s, and the next question is answered', async (status, code) => {
      await using world = await openWorld(open, [{ status }, 'Back again']);
      expect(await failure(world, mode)).toMatchObject({ code, details: { status } });
      expect((await ask(world, mode)).segments).toMatchObject([{ text: 'Back again' }]);
    });

    it('tell how long a service wants to be left alone', async () => {
      await using world = await openWorld(open, [{ status: 429, retryAfter: 7 }]);
      expect(await failure(world, mode)).toMatchObject({
        code: 'RATE_LIMITED',
        details: { retry_after_ms: 7_000 },
      });
    });

    it('tell of a service that is not there', async () => {
      await using world = await openWorld(open, []);
      await world.model?.close();
      expect(await failure(world, mode)).toMatchObject({ code: 'AGENT_OFFLINE' });
    });

    it('tell of a connection that broke in the middle of an answer', async () => {
      const say = [{ text: 'The answer is' }];
      await using world = await openWorld(open, [{ say, after: 'disconnect' }]);
      expect(await failure(world, mode)).toMatchObject({ code: 'AGENT_OFFLINE' });
    });

    it('end at once with the reason of the signal, and the service is left', async () => {
      await using world = await openWorld(open, [{ say: [], after: 'hang' }]);
      const control = new AbortController();
      const reason = Object.assign(new Error('Enough'), { name: 'AbortError' });
      const failing = failure(world, mode, { signal: control.signal });
      await expect.poll(() => world.model?.requests.length, { timeout: HANG_GUARD_MS }).toBe(1);
      control.abort(reason);
      expect(await failing).toMatchObject({ code: 'CANCELLED' });
      expect(await lastRequest(world).ended).toBe('left');
    });

    it('ask nothing when the call was cancelled before it began', async () => {
      await using world = await openWorld(open, ['Hello']);
      const reason = Object.assign(new Error('Never mind'), { name: 'AbortError' });
      const error = await failure(world, mode, { signal: AbortSignal.abort(reason) });
      expect(error).toMatchObject({ code: 'CANCELLED' });
      expect(world.model?.requests).toEqual([]);
    });
  });

  describe('streams', () => {
    it('fail when they end before the answer does', async () => {
      const say = [{ text: 'The answer is' }];
      await using world = await openWorld(open, [{ say, after: 'end' }]);
      const { code } = (await failure(world, 'streaming')) as { code?: unknown };
      expect(['AGENT_OFFLINE', 'UPSTREAM_ERROR']).toContain(code);
    });

    it('give words as they come, and disconnect from the service when the caller stops reading', async () => {
      const say = [{ text: 'Once upon a time' }];
      await using world = await openWorld(open, [{ say, after: 'hang' }]);
      const events = world.provider.stream?.('Tell', { tools: toolMap() }) ?? [];
      for await (const event of events) {
        expect(event).toMatchObject({ type: 'text' });
        break;
      }
      expect(await lastRequest(world).ended).toBe('left');
    });

    it('end with the reason of the signal in the middle, and the service is left', async () => {
      const say = [{ text: 'Once upon a time' }];
      await using world = await openWorld(open, [{ say, after: 'hang' }]);
      const control = new AbortController();
      const context = { tools: toolMap(), signal: control.signal };
      const reading = (async () => {
        for await (const _ of world.provider.stream?.('Tell', context) ?? []) control.abort();
      })();
      await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' });
      expect(await lastRequest(world).ended).toBe('left');
    });
  });
}
