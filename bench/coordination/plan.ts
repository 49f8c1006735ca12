/** Each can be measured without the others. */
export const PARTS = ['embedded', 'redis', 'gateway'] as const;
export type PartName = (typeof PARTS)[number];

/** `bare` does the same work on the engine with nothing of ours around it. */
export const TARGETS = ['starloom', 'bare'] as const;
export type TargetName = (typeof TARGETS)[number];

/** What is updated, and how; a cell has figures of one target or of both. */
export const CELLS = [
  'embedded.memory',
  'embedded.durable',
  'redis.lock_token',
  'redis.with_lock',
  'gateway.lock_token',
] as const;
export type CellName = (typeof CELLS)[number];

/** Each has an agent with the lock on its context. */
export const SESSIONS = 16;
export const IN_FLIGHT = 64;
export const KEYS_PER_SESSION = 16;
export const VALUE = { text: 'starloom-bench-'.padEnd(240, '0123456789') };

/** How much of it; tests take less. */
export interface Sizes {
  readonly subscribers: number;
  readonly missedEvents: number;
}

export const SIZES: Sizes = { subscribers: 1_000, missedEvents: 10_000 };
