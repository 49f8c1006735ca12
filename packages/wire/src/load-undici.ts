import { createRequire } from 'node:module';

/** Over a hundred modules: only who opens connections through a guard waits for them. */
export function loadUndici(): typeof import('undici') {
  return createRequire(import.meta.url)('undici');
}
