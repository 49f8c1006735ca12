import type { Capability, Health, HeldCapability } from '@starloom/core';
import { paint } from '../paint.ts';

interface Offering {
  readonly capabilities: readonly Capability[];
  readonly description?: string | undefined;
  readonly health: Health;
  /** Capabilities that wait for approval. */
  readonly held?: readonly HeldCapability[] | undefined;
}

const FEW = 4;

/**
 * What waits for approval, then the capabilities: the number first where the names will hardly fit,
 * what the agent is for where they are few.
 */
export function offersOf({ capabilities, description, health, held }: Offering): string {
  const names = capabilities.map(({ name }) => name);
  const waiting = paint('yellow', toWaiting(held));
  if (names.length === 0) return waiting || noneYet(health);
  const before = waiting ? `${waiting}; ` : '';
  if (names.length > FEW) return `${before}${names.length}: ${names.join(', ')}`;
  return before + names.join(', ') + (description ? `: ${description}` : '');
}

/** Such as `1 changed, 2 new`. */
export function toWaiting(held: Offering['held'] = []): string {
  const words = { changed: 'changed', new: 'new', look_alike: 'look-alike' } as const;
  return Object.entries(words)
    .map(([reason, word]) => [held.filter((one) => one.reason === reason).length, word] as const)
    .flatMap(([number, word]) => (number > 0 ? `${number} ${word}` : []))
    .join(', ');
}

function noneYet({ status }: Health): string {
  const isReached = status === 'online' || status === 'degraded';
  return paint('dim', isReached ? '(none)' : '(not reached yet)');
}
