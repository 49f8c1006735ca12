import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPlugin } from './open-plugin.ts';

describe('the memory plugin', () => {
  let folder: TemporaryFolder;
  let file: string;
  const open = (config: object = {}) =>
    openPlugin('memory', { folder: '/', stateFolder: join(folder.path, 'state'), config });

  beforeEach(async () => {
    folder = await temporaryFolder();
    file = join(folder.path, 'state', 'memory.jsonl');
  });

  afterEach(() => folder[Symbol.asyncDispose]());

  it('keeps notes when the agent has ended, in a file that only its user can read', async () => {
    await using first = await open();
    const { id } = (await first.run('memory:put', { text: 'Percy likes tea', tags: ['tea'] })) as {
      id: string;
    };
    await using second = await open();
    expect(await second.run('memory:list')).toMatch(
      new RegExp(`^\\[${id}\\] \\d{4}-\\d\\d-\\d\\d #tea: Percy likes tea$`),
    );
    expect((await stat(file)).mode & 0o077).toBe(0);
  });

  it('finds notes by their words, the rarest counting most, the newer first among equals', async () => {
    await using memory = await open();
    for (const text of ['the cat sat', 'the dog sat', 'the dog and the ünicorn', 'other']) {
      await memory.run('memory:put', { text });
    }
    const texts = async (query: string) =>
      String(await memory.run('memory:search', { query }))
        .split('\n')
        .map((line) => line.replace(/^.*?: /, ''));
    expect(await texts('Ünicorn sat')).toEqual([
      'the dog and the ünicorn',
      'the dog sat',
      'the cat sat',
    ]);
    expect(await memory.run('memory:search', { query: 'elephant' })).toBe('(no notes)');
  });

  it('lists the newest first, by tag where one is given, and no more than asked for', async () => {
    await using memory = await open();
    await memory.run('memory:put', { text: 'one', tags: ['a'] });
    await memory.run('memory:put', { text: 'two', tags: ['b'] });
    await memory.run('memory:put', { text: 'three', tags: ['a', 'b'] });
    const list = async (args: object) =>
      String(await memory.run('memory:list', args))
        .split('\n')
        .map((line) => line.split(': ')[1]);
    expect(await list({})).toEqual(['three', 'two', 'one']);
    expect(await list({ tag: 'a' })).toEqual(['three', 'one']);
    expect(await list({ limit: 1 })).toEqual(['three']);
  });

  it('forgets a note for good, and says when there is none', async () => {
    await using memory = await open();
    const { id } = (await memory.run('memory:put', { text: 'gone' })) as { id: string };
    expect(await memory.run('memory:forget', { id })).toEqual({ forgotten: id });
    await using again = await open();
    expect(await again.run('memory:list')).toBe('(no notes)');
    await expect(again.run('memory:forget', { id })).rejects.toThrow(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    );
  });

  it('passes over a line that a crash tore, and loses no note after it', async () => {
    await using memory = await open();
    await memory.run('memory:put', { text: 'before' });
    await appendFile(file, '{"id":"torn","at":"2026-');
    await memory.run('memory:put', { text: 'after' });
    await using again = await open();
    const listed = String(await again.run('memory:list'));
    expect(listed.split('\n').map((line) => line.split(': ')[1])).toEqual(['after', 'before']);
    expect(again.warnings).toHaveLength(1);
  });

  it('sees what another agent wrote to the same file, and loses nothing of either', async () => {
    await using one = await open();
    await using two = await open();
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 ? one : two).run('memory:put', { text: `note ${index}` }),
      ),
    );
    for (const memory of [one, two]) {
      expect(String(await memory.run('memory:list', { limit: 100 })).split('\n')).toHaveLength(40);
    }
  });

  it('rewrites its file when most of it is about forgotten notes', async () => {
    await using memory = await open();
    await memory.run('memory:put', { text: 'kept' });
    const lines = Array.from({ length: 600 }, (_, index) => {
      const note = { id: `n${index}`, at: '2026-01-01T00:00:00Z', text: 'x', tags: [] };
      return `${JSON.stringify(note)}\n${JSON.stringify({ forgotten: note.id })}\n`;
    });
    await appendFile(file, lines.join(''));
    const { id } = (await memory.run('memory:put', { text: 'last' })) as { id: string };
    await memory.run('memory:forget', { id });
    expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(1);
    expect(await readdir(join(folder.path, 'state'))).toEqual(['memory.jsonl']);
    expect(await memory.run('memory:list')).toMatch(/kept$/);
  });

  it('refuses more notes than there is room for', async () => {
    await using memory = await open({ max_notes: 1 });
    await memory.run('memory:put', { text: 'one' });
    await expect(memory.run('memory:put', { text: 'two' })).rejects.toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'memory_full' }) }),
    );
  });

  it('says of what it remembers that somebody else may have written it', async () => {
    await using memory = await open();
    expect(memory.tools.get('memory:search')?.untrusted).not.toBe(false);
    expect(memory.tools.get('memory:list')?.untrusted).not.toBe(false);
  });
});
