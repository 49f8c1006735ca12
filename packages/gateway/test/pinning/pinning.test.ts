import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditEntry } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { confirmOnce } from '../../src/pinning/confirm-once.ts';
import { approveHeld, forgetPins, readPins } from '../../src/pinning/pins-file.ts';
import {
  agent,
  approveAll,
  offersOf,
  openPinning,
  temporaryFolder,
  tool,
} from './pinning-world.ts';

const mine = agent();
const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

describe('the file of pins', () => {
  it('is written before anything is served, and other users cannot read it', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    const offers = offersOf(mine, tool('read'));
    expect(pinning.peek(mine, offers)).toBeUndefined();
    const { capabilities } = await pinning.review(mine, offers);
    expect(namesOf(capabilities)).toEqual(['read']);
    const path = join(folder.path, 'pins.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      version: 1,
      agents: [
        {
          agent_id: 'files',
          pins: [{ definition: { name: 'read' }, approved_by: 'first_use' }],
          held: [],
        },
      ],
    });
    expect(pinning.peek(mine, offers)).toBeDefined();
  });

  it.each(['{', '{"version":1}', '{"version":2,"agents":[]}', ''])(
    'stops the start when it is damaged: %s',
    async (content) => {
      await using folder = await temporaryFolder();
      await writeFile(join(folder.path, 'pins.json'), content);
      const opened = openPinning(folder.path);
      await expect(opened).rejects.toMatchObject({
        code: 'BAD_INPUT',
        details: { file: join(folder.path, 'pins.json'), fix: expect.stringMatching(/restore/) },
      });
    },
  );

  it('serves nothing new while it is damaged, and what was approved still holds', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    await pinning.review(mine, offersOf(mine, tool('read')));
    await writeFile(join(folder.path, 'pins.json'), '{');
    const more = offersOf(mine, tool('read'), tool('write'));
    await expect(pinning.review(mine, more)).rejects.toMatchObject({
      code: 'INTERNAL',
      details: { reason: 'pins', fix: expect.any(String) },
    });
    expect(() => pinning.confirm(mine, tool('read'), tool('read'))).not.toThrow();
    expect(() => pinning.confirm(mine, tool('read'), tool('read', 'Other'))).toThrow();
  });

  it('is shared: the first gateway decides, and all follow an approval', async () => {
    await using folder = await temporaryFolder();
    await using first = await openPinning(folder.path);
    await using second = await openPinning(folder.path);
    const [one, other] = [offersOf(mine, tool('read')), offersOf(mine, tool('read', 'Other'))];
    await first.review(mine, one);
    const { held } = await second.review(mine, other);
    expect(held).toMatchObject([{ name: 'read', reason: 'changed' }]);
    let changes = 0;
    first.onChange(() => {
      changes += 1;
    });
    await approveAll(folder.path, 'files');
    await expect.poll(() => changes).toBeGreaterThan(0);
    expect(() => first.confirm(mine, tool('read'), tool('read', 'Other'))).not.toThrow();
    expect(() => first.confirm(mine, tool('read'), tool('read'))).toThrow(/changed/);
    await expect
      .poll(async () => namesOf((await second.review(mine, other)).capabilities))
      .toEqual(['read']);
  });

  it('takes a fleet that appears at once', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    const fleet = Array.from({ length: 60 }, (_, index) => agent({ agent_id: `agent-${index}` }));
    const reviews = fleet.map((each) => pinning.review(each, offersOf(each, tool('read'))));
    const served = await Promise.all(reviews);
    expect(served.every(({ capabilities }) => capabilities.length === 1)).toBe(true);
    expect(await readPins(folder.path)).toHaveLength(60);
  });

  it('approves only what was shown', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    await pinning.review(mine, offersOf(mine, tool('read')));
    await pinning.review(mine, offersOf(mine, tool('read', 'Shown')));
    const shown = (await readPins(folder.path))[0]?.held ?? [];
    await pinning.review(mine, offersOf(mine, tool('read', 'Worse')));
    const approval = { agentId: 'files', shown, by: 'test', now: 0 };
    await expect(approveHeld(folder.path, approval)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'changed_again' },
    });
    expect((await readPins(folder.path))[0]?.held).toMatchObject([
      { definition: { description: 'Worse' } },
    ]);
  });

  it('forgets an agent that was removed', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    await pinning.review(mine, offersOf(mine, tool('read')));
    await forgetPins(folder.path, 'files', { isShared: false, now: Date.now() });
    expect(await readPins(folder.path)).toEqual([]);
  });

  it('writes down what was pinned and what is held', async () => {
    await using folder = await temporaryFolder();
    const entries: AuditEntry[] = [];
    await using pinning = await openPinning(folder.path, {
      audit: (entry) => void entries.push(entry),
    });
    await pinning.review(mine, offersOf(mine, tool('read'), tool('list')));
    await pinning.review(mine, offersOf(mine, tool('read', 'Other'), tool('list')));
    expect(entries).toMatchObject([
      { type: 'pin', decision: 'approved', agent_id: 'files', by: 'first_use' },
      { type: 'pin', decision: 'held', agent_id: 'files', by: 'changed' },
    ]);
    const names = entries.map((entry) => 'capabilities' in entry && namesOf(entry.capabilities));
    expect(names).toEqual([['read', 'list'], ['read']]);
  });
});

describe('a call', () => {
  it('is refused for a definition that was not approved, before it is sent', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    await pinning.review(mine, offersOf(mine, tool('read')));
    expect(() => pinning.confirm(mine, tool('read'), tool('read', 'Other'))).toThrow(
      expect.objectContaining({
        code: 'MANIFEST_CHANGED',
        details: {
          agent_id: 'files',
          capability: 'read',
          reason: 'changed',
          changes: ['description'],
          sent: false,
          fix: 'starloom agents approve files',
        },
      }),
    );
  });

  it('is refused when something is hidden in a name or value of the schema', async () => {
    await using folder = await temporaryFolder();
    await using pinning = await openPinning(folder.path);
    await pinning.review(mine, offersOf(mine, tool('read')));
    const input_schema = { type: 'object', properties: { 'path\u200b': {} } };
    const hidden = tool('read', 'Reads', { input_schema });
    expect(() => pinning.confirm(mine, tool('read'), hidden)).toThrow(/changed/);
  });

  it('is confirmed once for a list, and again when an approval changes', () => {
    let changed = () => {};
    const asked: string[] = [];
    const onChange = (listener: (agentIds: ReadonlySet<string>) => void) => {
      changed = () => listener(new Set(['files']));
      return () => {};
    };
    const confirm = confirmOnce({ onChange }, (_, { name }) => void asked.push(name));
    const read = tool('read');
    for (const offered of [read, read, tool('read', 'Other')]) confirm(mine, read, offered);
    expect(asked).toHaveLength(2);
    changed();
    confirm(mine, read, read);
    expect(asked).toHaveLength(3);
  });
});
