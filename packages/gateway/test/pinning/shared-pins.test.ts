import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { ManualClock } from '@starloom/core/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forgetPins, readPins } from '../../src/pinning/pins-file.ts';
import {
  agent,
  approveAll,
  offersOf,
  openPinning,
  temporaryFolder,
  tool,
} from './pinning-world.ts';

const mine = agent();
const secret = Buffer.alloc(32, 5);

describe('what is approved at one gateway of a realm', () => {
  let store: MemoryCoordinationStore;
  const opened: AsyncDisposable[] = [];

  beforeEach(() => {
    store = new MemoryCoordinationStore();
  });

  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
    await store.close();
  });

  const join = async (key = secret) => {
    const folder = await temporaryFolder();
    const realm = { store: toRealmStore(store), secret: key };
    const clock = new ManualClock();
    const pinning = await openPinning(folder.path, { realm, clock });
    opened.push(folder, pinning);
    const served = async (...tools: Parameters<typeof offersOf>[1][]) => {
      const { capabilities, held } = await pinning.review(mine, offersOf(mine, ...tools));
      return { served: capabilities.length, held: held.map(({ reason }) => reason) };
    };
    return { folder: folder.path, pinning, clock, served };
  };
  const readTool = tool('read');
  const changed = tool('read', 'Reads and sends');

  it('[G35] is approved at all of them, and what was approved before is held there', async () => {
    const [here, there] = [await join(), await join()];
    expect(await here.served(readTool)).toEqual({ served: 1, held: [] });
    await expect.poll(async () => (await readPins(there.folder)).length).toBe(1);
    // It is no first use there any more.
    expect(await there.served(changed)).toEqual({ served: 0, held: ['changed'] });
    expect(await here.served(changed)).toEqual({ served: 0, held: ['changed'] });
    await approveAll(there.folder, 'files');
    await expect.poll(() => here.served(changed)).toEqual({ served: 1, held: [] });
    expect(await here.served(readTool)).toEqual({ served: 0, held: ['changed'] });
    const late = await join();
    expect(await late.served(changed)).toEqual({ served: 1, held: [] });
  });

  it('is the first of two first uses, where both came at the same time', async () => {
    const [here, there] = [await join(), await join()];
    there.clock.advance(5);
    await Promise.all([here.served(readTool), there.served(changed)]);
    await expect.poll(() => there.served(readTool)).toEqual({ served: 1, held: [] });
    expect(await there.served(changed)).toEqual({ served: 0, held: ['changed'] });
    expect(await here.served(readTool)).toEqual({ served: 1, held: [] });
  });

  it('does not come back after the agent was removed', async () => {
    const [here, there] = [await join(), await join()];
    await here.served(readTool);
    await expect.poll(async () => (await readPins(there.folder)).length).toBe(1);
    const now = here.clock.now() + 1_000;
    await forgetPins(there.folder, 'files', { isShared: true, now });
    await expect.poll(() => readPins(here.folder)).toEqual([]);
    for (const { clock } of [here, there]) clock.advance(2_000);
    expect(await here.served(changed)).toEqual({ served: 1, held: [] });
    await expect.poll(() => there.served(changed)).toEqual({ served: 1, held: [] });
  });

  it('stays with a gateway whose operator wrote something else about the tool', async () => {
    const [here, there] = [await join(), await join()];
    await here.served(readTool);
    const other = agent({ capabilities: [{ name: 'read', description: 'By the operator' }] });
    await expect.poll(async () => (await readPins(there.folder)).length).toBe(1);
    const { held } = await there.pinning.review(other, offersOf(other, readTool));
    expect(held).toEqual([]);
    const before = await store.read('realm:pins');
    // Both have pins of their own, and do not overwrite each other.
    await expect
      .poll(async () => (await store.read('realm:pins')).version - before.version)
      .toBeLessThanOrEqual(1);
    expect(await here.served(readTool)).toEqual({ served: 1, held: [] });
    expect((await there.pinning.review(other, offersOf(other, readTool))).held).toEqual([]);
  });

  it('is not taken from a store that others write', async () => {
    const here = await join();
    await here.served(readTool);
    await expect.poll(async () => (await store.read('realm:pins')).version).toBeGreaterThan(0);
    const stranger = await join(Buffer.alloc(32, 6));
    expect(await readPins(stranger.folder)).toEqual([]);
  });
});
