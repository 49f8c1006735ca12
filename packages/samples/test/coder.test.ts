import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EventBody, FabricError } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { createCoder, MAX_SOURCE_BYTES, readSource } from '../src/coder.ts';
import { textOf } from './fixtures/open-agent.ts';

const SOURCE = 'export function answer() {\n  return 42;\n}\n';

async function reasonFor(reading: Promise<string>): Promise<unknown> {
  const error = await reading.then(
    (text) => expect.fail(`read ${text.length} characters`),
    (thrown: unknown) => thrown,
  );
  if (!FabricError.is(error)) throw error;
  expect(error.code).toBe('BAD_INPUT');
  return error.details.reason;
}

/** A folder `inside` to read from, and a secret beside it. */
async function world() {
  const folder = await temporaryFolder();
  const inside = join(folder.path, 'inside');
  const secret = join(folder.path, 'secret.ts');
  await mkdir(join(inside, 'src'), { recursive: true });
  await writeFile(secret, 'secret');
  await writeFile(join(inside, 'src/answer.ts'), SOURCE);
  return { inside, secret, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

describe('reading a source', () => {
  it('reads files of its folder, by relative or absolute path', async () => {
    await using place = await world();
    expect(await readSource(place.inside, 'src/answer.ts')).toBe(SOURCE);
    expect(await readSource(place.inside, 'src/../src/answer.ts')).toBe(SOURCE);
    expect(await readSource(place.inside, join(place.inside, 'src/answer.ts'))).toBe(SOURCE);
  });

  it.each(['../secret.ts', 'src/../../secret.ts', '/etc/passwd', '..', 'a\0/../../secret.ts'])(
    'refuses %j, which leaves the folder',
    async (path) => {
      await using place = await world();
      expect(await reasonFor(readSource(place.inside, path))).toBe('outside_folder');
    },
  );

  it('refuses a sibling folder whose name begins the same', async () => {
    await using place = await world();
    await mkdir(`${place.inside}-not`);
    await writeFile(`${place.inside}-not/a.ts`, 'secret');
    const path = `${place.inside}-not/a.ts`;
    expect(await reasonFor(readSource(place.inside, path))).toBe('outside_folder');
  });

  it('refuses links that lead out, to a file or through a folder, and follows those that stay', async () => {
    await using place = await world();
    await symlink(place.secret, join(place.inside, 'link.ts'));
    await symlink(join(place.inside, '..'), join(place.inside, 'up'));
    await symlink(join(place.inside, 'src'), join(place.inside, 'stays'));
    expect(await reasonFor(readSource(place.inside, 'link.ts'))).toBe('outside_folder');
    expect(await reasonFor(readSource(place.inside, 'up/secret.ts'))).toBe('outside_folder');
    expect(await readSource(place.inside, 'stays/answer.ts')).toBe(SOURCE);
  });

  it('refuses what is not there, no file, too large or no text', async () => {
    await using place = await world();
    const { inside } = place;
    await writeFile(join(inside, 'large.ts'), 'x'.repeat(MAX_SOURCE_BYTES + 1));
    await writeFile(join(inside, 'bytes.ts'), Buffer.from([0xff, 0xfe, 0x00]));
    expect(await reasonFor(readSource(inside, 'missing.ts'))).toBe('not_found');
    expect(await reasonFor(readSource(inside, 'src'))).toBe('not_a_file');
    expect(await reasonFor(readSource(inside, 'large.ts'))).toBe('too_large');
    expect(await reasonFor(readSource(inside, 'bytes.ts'))).toBe('not_text');
  });
});

describe('the coder', () => {
  const { signal } = new AbortController();
  const toolCalls = (events: readonly EventBody[]) =>
    events.flatMap((event) => (event.type === 'tool_call' ? event.data : []));

  it('reads the file with a tool call, and says what it found', async () => {
    await using place = await world();
    const coder = createCoder(place.inside);
    const events = await Array.fromAsync(coder.work({ path: 'src/answer.ts' }, signal));
    expect(toolCalls(events)).toEqual([
      { id: 'read-1', name: 'read_file', args: { path: 'src/answer.ts' }, phase: 'start' },
      {
        id: 'read-1',
        name: 'read_file',
        args: { path: 'src/answer.ts' },
        phase: 'end',
        result: { bytes: SOURCE.length },
      },
    ]);
    const answer = textOf(events);
    expect(answer).toContain('src/answer.ts: 3 lines of TypeScript');
    expect(events.at(-1)).toMatchObject({
      type: 'final',
      data: { answer, data: { longest: { name: 'answer', line: 1, lines: 3 } } },
    });
  });

  it('reports on source text without reading anything', async () => {
    const coder = createCoder('/nowhere');
    const events = await Array.fromAsync(coder.work({ source: SOURCE }, signal));
    expect(toolCalls(events)).toEqual([]);
    expect(textOf(events)).toContain('The source: 3 lines of JavaScript');
  });

  it.each(['src/answer.ts', 'Please report on src/answer.ts', 'What is in `src/answer.ts`?'])(
    'understands the task %j as the file',
    async (task) => {
      await using place = await world();
      const events = await Array.fromAsync(createCoder(place.inside).work({ task }, signal));
      expect(toolCalls(events)).toHaveLength(2);
    },
  );

  it('takes a task of several lines for source text', async () => {
    const events = await Array.fromAsync(createCoder('/nowhere').work({ task: SOURCE }, signal));
    expect(textOf(events)).toContain('The source: 3 lines');
  });

  it('refuses to report on nothing', async () => {
    const working = Array.fromAsync(createCoder('/nowhere').work({}, signal));
    await expect(working).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'no_source' },
    });
  });
});
