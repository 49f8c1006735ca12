import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CertificateExpiry } from '../../src/observe/certificate-expiry.ts';

const DAY_MS = 86_400_000;

describe('the expiry of certificates', () => {
  it('is warned of from 14 days before, again and again, until the certificate is replaced', () => {
    const clock = new ManualClock();
    const warned: unknown[] = [];
    const warn = (about: object, text: string) => warned.push({ ...about, text });
    const expiry = new CertificateExpiry(clock, { warn } as never);
    onTestFinished(() => expiry.close());
    expiry.set('listen', clock.now() + 14 * DAY_MS);
    expect(warned).toEqual([]);
    expect([...expiry.days()]).toEqual([['listen', 14]]);
    clock.advance(1);
    expiry.warn();
    expect(warned).toMatchObject([
      { certificate: 'listen', days: 13, text: 'a certificate expires soon' },
    ]);
    clock.advance(15 * DAY_MS);
    expiry.warn();
    expect(warned[1]).toMatchObject({ days: -2, text: 'a certificate has expired' });
    expiry.set('listen', clock.now() + 90 * DAY_MS);
    expiry.warn();
    expect(warned).toHaveLength(2);
    expiry.delete('listen');
    expect([...expiry.days()]).toEqual([]);
  });
});
