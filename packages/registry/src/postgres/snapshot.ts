// The directory as it was last, for a start while the database is away. It lies in the state folder of the
// gateway, which is trusted like its keys.

import { open, readFile, rename, rm } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InstanceEntry } from '@starloom/core';
import type { FeedPosition } from './store.ts';

const VERSION = 1;
/** Entries that are written in one turn of the event loop. */
const TURN = 500;

export interface Snapshot {
  readonly asOf: string;
  readonly position: FeedPosition;
  readonly entries: readonly InstanceEntry[];
}

export async function writeSnapshot(path: string, snapshot: Snapshot): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await using file = await open(temporary, 'w', 0o600);
    const { asOf, position, entries } = snapshot;
    const head = { version: VERSION, asOf, position, count: entries.length };
    await file.write(`${JSON.stringify(head)}\n`);
    for (let at = 0; at < entries.length; at += TURN) {
      const lines = entries.slice(at, at + TURN).map((entry) => JSON.stringify(entry));
      await file.write(`${lines.join('\n')}\n`);
      await nextTurn();
    }
    await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rename(temporary, path);
}

/** `undefined` when there is none, or none of this version. */
export async function readSnapshot(path: string): Promise<Snapshot | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const [first = '', ...lines] = text.trimEnd().split('\n');
  try {
    const { version, asOf, position, count } = JSON.parse(first);
    if (version !== VERSION || count !== lines.length) return undefined;
    return { asOf, position, entries: lines.map((line) => JSON.parse(line) as InstanceEntry) };
  } catch {
    return undefined;
  }
}
