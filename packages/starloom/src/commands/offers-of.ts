import type { Capability, Health } from '@starloom/core';
import { paint } from '../paint.ts';

export interface Offering {
  readonly capabilities: readonly Capability[];
  readonly description?: string | undefined;
  readonly health: Health;
}

const FEW = 4;

/** The number first where the names will hardly fit; what the agent is for where they are few. */
export function offersOf({ capabilities, description, health }: Offering): string {
  const names = capabilities.map(({ name }) => name);
  if (names.length === 0) return noneYet(health);
  if (names.length > FEW) return `${names.length}: ${names.join(', ')}`;
  return names.join(', ') + (description ? `: ${description}` : '');
}

function noneYet({ status }: Health): string {
  const isReached = status === 'online' || status === 'degraded';
  return paint('dim', isReached ? '(none)' : '(not reached yet)');
}
