import { refuse } from '../errors.ts';
import type { CoordinationLimits } from './limits.ts';

export function assertSize(
  limit: keyof CoordinationLimits,
  bytes: number,
  limits: CoordinationLimits,
): void {
  if (bytes <= limits[limit]) return;
  throw refuse('quota', `${bytes} bytes are more than allowed (${limit})`, {
    limit,
    allowed: limits[limit],
    bytes,
    fix: 'send less; put what is large into the shared buffer in parts',
  });
}

/** There may be `count` of these, the new one included. */
export function assertCount(
  limit: keyof CoordinationLimits,
  count: number,
  limits: CoordinationLimits,
): void {
  if (count <= limits[limit]) return;
  throw refuse('quota', `There are ${limits[limit]} already (${limit})`, {
    limit,
    allowed: limits[limit],
    fix: 'end or remove some first',
  });
}
