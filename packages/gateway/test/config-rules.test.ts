import { randomBytes } from 'node:crypto';
import { generateKey } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { checkSharedKey } from '../src/config-rules.ts';

describe('a shared key of the configuration', () => {
  it.each([
    'changeme-changeme',
    'your-secret-key-here',
    'my-test-key-for-the-gateway',
    'dev-shared-secret-1234567890',
    'replace_me_with_a_real_secret',
    'test-key-0123456789abcdef',
    'sk-1234567890abcdef',
    'hunter2hunter2hunter2',
    'aaaaaaaaaaaaaaaaaaaaaaaa',
    'short',
  ])('%s stops the start, with what to do instead', (key) => {
    expect(checkSharedKey(key)).toMatchObject({ fix: expect.stringContaining('random') });
  });

  it('is taken when it is random, whatever letters chance gives it', () => {
    for (let round = 0; round < 500; round += 1) {
      expect(checkSharedKey(generateKey())).toBeUndefined();
      expect(checkSharedKey(randomBytes(16).toString('hex'))).toBeUndefined();
      expect(checkSharedKey(randomBytes(24).toString('base64'))).toBeUndefined();
    }
  });
});
