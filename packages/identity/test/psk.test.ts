import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createPskVerifier, generateKey, hashKey, type PskKey } from '../src/index.ts';

const OWNER = { key_id: 'one', principal: 'ci', tier: 'org', scopes: ['*'] } as const;
const keyOf = (change: { key_id?: string; key?: string; scopes?: string[] } = {}): PskKey => {
  return { ...OWNER, key: generateKey(), ...change };
};

describe('shared keys', () => {
  it('[G11] lets a principal have two keys, so that one can replace the other', () => {
    const [old, fresh] = [generateKey(), generateKey()];
    const both = createPskVerifier([
      keyOf({ key_id: 'old', key: old }),
      keyOf({ key_id: 'new', key: fresh }),
    ]);
    expect(both.verify(old)).toMatchObject({ id: 'ci', keyId: 'old' });
    expect(both.verify(fresh)).toMatchObject({ id: 'ci', keyId: 'new' });
    const after = createPskVerifier([keyOf({ key_id: 'new', key: fresh })]);
    expect(after.verify(old)).toBeUndefined();
    expect(after.verify(fresh)?.id).toBe('ci');
  });

  it('knows a key by its stored hash, and not the hash as a key', () => {
    const key = generateKey();
    const verifier = createPskVerifier([{ ...OWNER, key_hash: hashKey(key) }]);
    expect(verifier.verify(key)?.keyId).toBe('one');
    expect(verifier.verify(hashKey(key))).toBeUndefined();
  });

  it('knows no caller without keys', () => {
    expect(createPskVerifier([]).verify(generateKey())).toBeUndefined();
    expect(createPskVerifier([]).verify('')).toBeUndefined();
  });

  it('gives a principal that cannot be changed afterwards', () => {
    const scopes = ['read'];
    const key = generateKey();
    const principal = createPskVerifier([keyOf({ key, scopes })]).verify(key);
    scopes.push('write');
    expect(principal?.scopes).toEqual(['read']);
    expect(Object.isFrozen(principal) && Object.isFrozen(principal?.scopes)).toBe(true);
  });

  it.each<[string, PskKey[]]>([
    ['one key for two', [keyOf({ key: 'k'.repeat(32) }), keyOf({ key: 'k'.repeat(32) })]],
    ['a key and its hash', [keyOf({ key: 'abc' }), { ...OWNER, key_hash: hashKey('abc') }]],
    ['an empty key', [keyOf({ key: '' })]],
    ['a key that no header can carry', [keyOf({ key: 'a key with spaces in it' })]],
    ['a key beyond ASCII', [keyOf({ key: 'schlüssel-schlüssel-schlüssel' })]],
    ['a hash that is none', [{ ...OWNER, key_hash: 'abc' }]],
  ])('refuses %s, naming the key by its id', (_, keys) => {
    const opening = () => createPskVerifier(keys);
    expect(opening).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
    expect(opening).toThrow(expect.objectContaining({ details: detailsOf('one') }));
  });

  it('takes no longer when there are many keys', () => {
    const wrong = Array.from({ length: 2000 }, generateKey);
    const costOf = (count: number) => {
      const keys = Array.from({ length: count }, (_, index) => keyOf({ key_id: `k${index}` }));
      const verifier = createPskVerifier(keys);
      const runs = Array.from({ length: 5 }, () => {
        const start = performance.now();
        for (const key of wrong) verifier.verify(key);
        return performance.now() - start;
      });
      return Math.min(...runs);
    };
    expect(costOf(20_000)).toBeLessThan(costOf(2) * 50);
  });

  it('keeps no key in memory', async () => {
    expect(await heapHoldsKey('forget')).toBe(false);
    expect(await heapHoldsKey('keep')).toBe(true);
  });
});

describe('generated keys', () => {
  it('have 256 random bits behind a prefix that scanners know', () => {
    const keys = new Set(Array.from({ length: 1000 }, generateKey));
    expect(keys.size).toBe(1000);
    for (const key of keys) {
      expect(key).toMatch(/^slk_[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(key.slice(4), 'base64url')).toHaveLength(32);
    }
  });

  it('are stored as their SHA-256 in hex', () => {
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

function detailsOf(keyId: string): unknown {
  return expect.objectContaining({ reason: 'bad_key', key_id: keyId });
}

/** Whether the key of a verifier can be found in a dump of its process's memory. */
async function heapHoldsKey(mode: 'keep' | 'forget'): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-psk-'));
  try {
    const file = join(folder, 'memory.heapsnapshot');
    const script = fileURLToPath(new URL('./fixtures/heap-of-verifier.ts', import.meta.url));
    const options = ['--expose-gc', '--conditions=@starloom/source', script, mode, file];
    const { stdout: key } = await promisify(execFile)(process.execPath, options);
    expect(key).toMatch(/^slk_[A-Za-z0-9_-]{43}$/);
    return (await readFile(file, 'utf8')).includes(key);
  } finally {
    await rm(folder, { recursive: true });
  }
}
