// Options of every adapter that starts a program.

import { FabricError } from '@starloom/core';
import { z } from 'zod';
import { ISOLATION_LEVELS, type Isolation } from './isolation.ts';

const bytes = z.int().positive();

export const programOptions = {
  max_line_bytes: bytes.default(16_777_216).describe('Longest line the agent may write'),
  max_output_bytes: bytes.default(67_108_864).describe('All it may write for one call'),
  grace_ms: z.int().nonnegative().default(2_000).describe('From cancel to end, and end to kill'),
  inherit_env: z
    .array(z.string().min(1))
    .default([])
    .describe('Variables of the gateway that it gets, besides PATH, HOME and the like'),
  isolation: z
    .enum(ISOLATION_LEVELS)
    .default('none')
    .describe('Bubblewrap around the program: none, preferred where available, or required'),
  writable: z
    .array(z.string().min(1))
    .default([])
    .describe('Folders it may write to when isolated, besides the one it runs in'),
  hidden: z
    .array(z.string().min(1))
    .default([])
    .describe('Folders that are empty to it when isolated'),
  network: z.boolean().default(true).describe('May it use the network when isolated?'),
  user: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('User of this machine it runs as, in place of bubblewrap; needs a gateway of root'),
} as const;

interface IsolationOptions {
  readonly isolation: Isolation['level'];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
  readonly user?: string | undefined;
}

export function toIsolation(options: IsolationOptions): Isolation {
  const { isolation: level, writable, hidden, network, user } = options;
  const isOfBubblewrap = writable.length > 0 || hidden.length > 0 || !network;
  if (user !== undefined && isOfBubblewrap) throw bothWays();
  return { level, writable, hidden, network, user };
}

function bothWays(): FabricError {
  return new FabricError('BAD_INPUT', 'Only bubblewrap knows writable, hidden and network', {
    details: { reason: 'bad_options', fix: 'leave "user" out, or these three' },
  });
}
