import { type Clock, type Journal, type Log, silentLog, systemClock } from '@starloom/core';
import { KeptJournal } from './kept-journal.ts';

/** Where calls are kept: the section `journal` of `starloom.yaml`, with its secrets revealed. */
export type JournalPlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

export interface OpenJournalOptions {
  /** How many calls are kept. */
  readonly calls: number;
  /** The node of this gateway: what it left running is closed when it starts again. */
  readonly gateway: string;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Opens the engine that the configuration names. One that cannot be used yet is tried again later. */
export async function openJournal(
  place: JournalPlace,
  { calls, gateway, clock = systemClock, log = silentLog }: OpenJournalOptions,
): Promise<Journal> {
  if (place.kind === 'postgres') {
    const { openPostgresTable } = await import('./postgres.ts');
    const table = await openPostgresTable({ url: place.url, calls, log });
    return await KeptJournal.open({ table, gateway, clock, log });
  }
  const { openSqliteTable } = await import('./sqlite/sqlite-table.ts');
  const path = place.kind === 'memory' ? ':memory:' : place.path;
  const table = openSqliteTable({ path, calls, log });
  return await KeptJournal.open({ table, gateway, clock, log });
}
