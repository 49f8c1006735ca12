import type { IncomingMessage } from 'node:http';
import { a2aError } from './failures.ts';

export const LEGACY = '0.3';

/** What the client asks for, by header or parameter; a client that names none speaks 0.3. */
export function requestedVersion({ headers }: IncomingMessage, { searchParams }: URL): string {
  const header = headers['a2a-version'];
  const named = Array.isArray(header) ? header[0] : header;
  const asked = (named || searchParams.get('A2A-Version') || LEGACY).trim();
  return PATCHED.exec(asked)?.[1] ?? asked;
}

/** Patches of a version are negotiated as the version. */
const PATCHED = /^(\d{1,3}\.\d{1,3})\.\d{1,3}$/;

/** VERSION_NOT_SUPPORTED for one that is not served. */
export function assertVersion(version: string, served: readonly string[]): void {
  if (served.includes(version)) return;
  const message = `A2A ${version.slice(0, 32)} is not served; supported: ${served.join(', ')}`;
  throw a2aError('VERSION_NOT_SUPPORTED', message, {
    supported: served,
    fix: `send the header A2A-Version: ${served[0]}`,
  });
}
