import { z } from 'zod';
import type { FabricError } from './errors.ts';

/**
 * `unknown` until the first check; `starting` while the first connection is being made; `degraded`
 * is reachable, but refuses or fails.
 */
export const HEALTH_STATES = ['unknown', 'starting', 'online', 'degraded', 'offline'] as const;

export const healthSchema = z.strictObject({
  status: z.enum(HEALTH_STATES),
  checked_at: z.iso.datetime().nullable().default(null),
  since: z.iso.datetime().optional().describe('When the status became what it is'),
  latency_ms: z.number().nonnegative().optional(),
  reason: z.string().optional().describe('Why, in one word for programs'),
  message: z.string().optional().describe('Why it is not online'),
  upstream: z.unknown().optional().describe('What the agent said: status, exit code, stderr'),
  fix: z.string().optional().describe('What to do about it'),
});

export type HealthStatus = (typeof HEALTH_STATES)[number];
export type Health = z.infer<typeof healthSchema>;

export const UNKNOWN_HEALTH: Health = Object.freeze({ status: 'unknown', checked_at: null });

/** Why an agent is not online, from the failure of its check. */
export function toHealthReason({
  message,
  details,
}: FabricError): Pick<Health, 'message' | 'upstream' | 'fix'> {
  const { upstream, fix } = details;
  return {
    message,
    ...(upstream !== undefined && { upstream }),
    ...(typeof fix === 'string' && { fix }),
  };
}
