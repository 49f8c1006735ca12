import { expect, it } from 'vitest';
import type { AttackName } from '../../prove/abuse/attacks/index.ts';
import { runAttack } from '../../prove/abuse/campaign.ts';
import { runShutdown } from '../../prove/abuse/shutdown.ts';

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
const FLOORS = { ms: 15_000, mb: 1_000 };
/** Reached in a moment, also where a call takes long. */
const LIMITS = { calls_per_principal: 200 };
const { signal } = new AbortController();

it.concurrent.each(SHORT)('an ordinary client is served during the attack %s', async (name) => {
  const options = { seconds: 1, quietSeconds: 0.5, floors: FLOORS, limits: LIMITS, signal };
  const { problems, operations, during } = await runAttack(name, options);
  expect(problems).toEqual([]);
  expect(operations).toBeGreaterThan(0);
  expect(during.calls.sent).toBeGreaterThan(0);
});

it('every call in flight is answered when the gateway is asked to end', async () => {
  const { problems, counts } = await runShutdown(signal);
  expect(problems).toEqual([]);
  expect(counts).toMatchObject({ http_answered: 50, websocket_answered: 50 });
});
