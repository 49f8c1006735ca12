import { join } from 'node:path';
import { openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { BareJournal, writtenRecord } from './bare-journal.ts';
import { openPlane, planeTarget, update } from './plane.ts';
import type { Part } from './update-target.ts';

/** The default store, in memory and on disk, and beside it SQLite alone. */
export async function openEmbeddedPart(): Promise<Part> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const open = async (path?: string) => {
    const store = await openStore({ kind: 'embedded', path }, { log: silentLog });
    opened.defer(() => store.close());
    return opened.use(await openPlane(store, 'lock_token'));
  };
  const memory = await open();
  const durable = await open(join(folder.path, 'durable.db'));
  const record = await sampleRecord(join(folder.path, 'sample.db'));
  const bareMemory = opened.use(new BareJournal(record));
  const bareDurable = opened.use(new BareJournal(record, join(folder.path, 'bare.db')));
  const kept = opened.move();
  return {
    targets: [
      planeTarget('embedded.memory', memory),
      bareMemory.target('embedded.memory'),
      planeTarget('embedded.durable', durable),
      bareDurable.target('embedded.durable'),
    ],
    versions: { sqlite: process.versions.sqlite ?? 'unknown' },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** What the store writes to disk for one update. */
async function sampleRecord(path: string): Promise<string> {
  const store = await openStore({ kind: 'embedded', path }, { log: silentLog });
  try {
    await using plane = await openPlane(store, 'lock_token', 1);
    await update(plane.writers[0], 0);
  } finally {
    await store.close();
  }
  return writtenRecord(path);
}
