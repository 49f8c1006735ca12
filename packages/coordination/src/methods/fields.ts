// Fields that several methods share.

import { z } from 'zod';
import { sessionIdSchema } from '../agents/caller.ts';
import { MAX_KEY_LENGTH } from '../context/context-operations.ts';
import { jsonObjectSchema } from '../json/json.ts';

const HOUR_MS = 3_600_000;

/** What is a key in a store: half of a surrogate pair is no text, and not kept by every engine. */
export const keyName = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .refine((text) => text.isWellFormed(), 'expected text without lone surrogates');

export const sessionId = sessionIdSchema.describe('The session');
export const version = z.int().min(0);
export const cursor = z.int().min(0).describe('Read on, or subscribe, from here');
export const time = z.number().describe('Milliseconds since 1970');
export const contextKey = keyName(MAX_KEY_LENGTH);
export const anyResource = keyName(256);
export const resource = anyResource
  .default('context')
  .describe('What is locked; by default the context of the session');
export const lockToken = z.int().describe('As memory_locker.acquire gave it');
export const lockTtl = z
  .int()
  .min(1)
  .max(HOUR_MS)
  .default(60_000)
  .describe('The lock ends by itself after this time');
export const waitMs = z
  .int()
  .min(0)
  .max(HOUR_MS / 6)
  .default(0);
export const metadata = jsonObjectSchema.describe('Anything about it, as a JSON object');
export const limit = z.int().min(1).max(1_000).default(100);
export const sessionTtl = z
  .int()
  .min(1_000)
  .max(30 * 24 * HOUR_MS);

export const exampleSession = '6f1c7f9e-6f0a-4b6e-9a53-0c8d3f6f2a10';
export const exampleTime = 1_800_000_000_000;
