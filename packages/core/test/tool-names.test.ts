import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findNamed,
  matchesName,
  sha256Hex,
  styleToolName,
  toolNameSpellings,
  toToolName,
} from '../src/index.ts';

const agentId = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,30}$/);
const capability = fc.stringMatching(/^[A-Za-z0-9_.:-]{1,64}$/);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('tool names', () => {
  it('[A7] show a colon as a dot and stay callable as written', () => {
    expect(toToolName('files', 'fs:read_file')).toBe('files.fs.read_file');
    expect(toToolName('files', 'fs:read_file', 'underscores')).toBe('files_fs_read_file');
    expect(toolNameSpellings('files', 'fs:read_file')).toEqual([
      'files.fs.read_file',
      'files_fs_read_file',
      'files.fs:read_file',
    ]);
    expect(styleToolName('fabric.agent.list', 'underscores')).toBe('fabric_agent_list');
  });

  it('[A7] of capabilities match in both spellings, the same spelling first', () => {
    const both = [{ name: 'fs:read' }, { name: 'fs.read' }];
    for (const { name } of both) {
      expect(findNamed(both, name)).toEqual({ name });
      expect(findNamed([{ name: 'other' }, { name: 'fs:read' }], name)?.name).toBe('fs:read');
      expect(findNamed([{ name: 'fs.read' }], name)?.name).toBe('fs.read');
      for (const glob of ['fs:*', 'fs.*', '*:read', 'fs?read']) {
        expect(matchesName(glob, name)).toBe(true);
      }
    }
    expect(findNamed(both, 'fs_read')).toBeUndefined();
    expect(matchesName('fs:*', 'git:status')).toBe(false);
  });

  it('use only characters every client accepts, at most 64', () => {
    fc.assert(
      fc.property(agentId, capability, (id, name) => {
        expect(toToolName(id, name)).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
        expect(toToolName(id, name, 'underscores')).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(toToolName(id, name)).toBe(toToolName(id, name));
      }),
    );
  });

  it('keep short names whole and end long ones in the hash of the whole', () => {
    fc.assert(
      fc.property(agentId, capability, (id, name) => {
        const full = `${id}.${name.replaceAll(':', '.')}`;
        const listed = toToolName(id, name);
        const short = `${full.slice(0, 55)}-${sha256(full).slice(0, 8)}`;
        expect(listed).toBe(full.length <= 64 ? full : short);
      }),
    );
  });

  it('tell long names apart that differ only at their end', () => {
    const long = 'x'.repeat(63);
    expect(toToolName('agent', `${long}1`)).not.toBe(toToolName('agent', `${long}2`));
  });
});

describe('sha256', () => {
  it('equals the one of the platform for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        expect(sha256Hex(text)).toBe(sha256(text));
      }),
    );
    for (const length of [0, 55, 56, 63, 64, 65, 119, 120, 1000]) {
      expect(sha256Hex('a'.repeat(length))).toBe(sha256('a'.repeat(length)));
    }
  });

  it('are found in a long list as in a short one', () => {
    const names = fc.uniqueArray(capability, { minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(names, capability, (all, other) => {
        const list = all.map((name) => ({ name }));
        for (const name of [...all, other, other.toUpperCase()]) {
          const parts = [list.slice(0, 15), list.slice(15, 30), list.slice(30, 45), list.slice(45)];
          const exact = list.find((one) => one.name === name);
          const first = parts.map((part) => findNamed(part, name)).find((one) => one);
          expect(findNamed(list, name)).toBe(exact ?? first);
        }
      }),
    );
  });
});
