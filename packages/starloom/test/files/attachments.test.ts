import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_BYTES, readAttachments, toAttachment } from '../../src/files/attachments.ts';
import { scratch } from '../run-starloom.ts';

describe('attachments', () => {
  it.each([
    ['notes.md', 'grüße', { media_type: 'text/markdown', text: 'grüße' }],
    ['data.JSON', '{}', { media_type: 'application/json', text: '{}' }],
    ['Makefile', 'all:', { media_type: 'text/plain', text: 'all:' }],
    ['a.png', 'not even a picture', { media_type: 'image/png', data: expect.any(String) }],
    ['bom.txt', '\ufeffx', { media_type: 'text/plain', text: '\ufeffx' }],
    ['empty.txt', '', { media_type: 'text/plain', text: '' }],
  ])('are text or base64 by their name: %s', (name, content, expected) => {
    expect(toAttachment(name, Buffer.from(content))).toEqual({ name, ...expected });
  });

  it('are base64 when their bytes are no text', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00]);
    const data = bytes.toString('base64');
    expect(toAttachment('a.txt', bytes)).toEqual({ name: 'a.txt', media_type: 'text/plain', data });
    expect(toAttachment('a.bin', bytes).media_type).toBe('application/octet-stream');
  });

  it('are BAD_INPUT when they are too large together, or cannot be read', async () => {
    await using place = await scratch({ 'a.txt': 'x', 'b.txt': 'y' });
    const { folder: cwd } = place;
    expect(await readAttachments(['a.txt', join(cwd, 'b.txt')], cwd)).toHaveLength(2);
    await truncate(join(cwd, 'b.txt'), MAX_BYTES);
    for (const [files, reason] of [
      [['a.txt', 'b.txt'], 'attachment_too_large'],
      [['gone.txt'], 'attachment_unreadable'],
      [['.'], 'attachment_unreadable'],
    ] as const) {
      await expect(readAttachments(files, cwd)).rejects.toMatchObject({
        code: 'BAD_INPUT',
        details: { reason, fix: expect.any(String) },
      });
    }
  });
});
