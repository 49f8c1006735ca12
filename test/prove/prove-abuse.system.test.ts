import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AttackName } from '../../prove/abuse/attacks/index.ts';
import { attackOnce, openScene, type Scene } from '../../prove/abuse/campaign.ts';
import { toObserved } from '../../prove/abuse/ordinary-client.ts';
import { runShutdown } from '../../prove/abuse/shutdown.ts';
import { LEAST_SUCCESS, successOf } from '../../prove/abuse/verdict.ts';

/**
 * Those whose outcome is the same on a machine under load: by what the attacker was answered, and by
 * whether the ordinary client was served at all. How fast and how large is for `npm run prove:abuse`.
 */
const SHORT: readonly AttackName[] = [
  'unauthenticated-bodies',
  'calls-in-flight',
  'ping-flood',
  'foreign-trace',
  'dropped-headers',
];
/** Reached in a moment, also where a call takes long. */
const LIMITS = { calls_per_principal: 200 };
const { signal } = new AbortController();
let scene: Scene;

beforeAll(async () => {
  scene = await openScene(signal, { limits: LIMITS });
});
afterAll(() => scene[Symbol.asyncDispose]());

it.each(SHORT)('an ordinary client is served during the attack %s', async (name) => {
  const { outcome, slice } = await attackOnce(name, scene, 1);
  const during = toObserved([slice]);
  expect(outcome.problems).toEqual([]);
  expect(outcome.operations).toBeGreaterThan(0);
  expect(during.calls.sent).toBeGreaterThan(0);
  expect(successOf(during), during.failures.join()).toBeGreaterThanOrEqual(LEAST_SUCCESS);
  expect(await scene.ordinary.lostUpdates()).toBe(0);
});

it('every call in flight is answered when the gateway is asked to end', async () => {
  const { problems, counts } = await runShutdown(signal);
  expect(problems).toEqual([]);
  expect(counts).toMatchObject({ http_answered: 50, websocket_answered: 50 });
});
