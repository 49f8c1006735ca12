import { z } from 'zod';

/** `unknown` until somebody asked; `degraded` is reachable but failing more than it should. */
export const HEALTH_STATES = ['unknown', 'online', 'degraded', 'offline'] as const;

export const healthSchema = z.strictObject({
  status: z.enum(HEALTH_STATES),
  checked_at: z.iso.datetime().nullable().default(null),
  latency_ms: z.number().nonnegative().optional(),
  message: z.string().optional().describe('Why it is not online'),
});

export type HealthStatus = (typeof HEALTH_STATES)[number];
export type Health = z.infer<typeof healthSchema>;

export const UNKNOWN_HEALTH: Health = Object.freeze({ status: 'unknown', checked_at: null });
