import { describe, expect, it } from 'vitest';
import { connectionFailure, FabricError, isAway, unreachableReason } from '../src/index.ts';

const withCode = (code: string) => Object.assign(new Error(code), { code });

describe('an error of a socket', () => {
  it.each([
    ['ECONNREFUSED', 'refused'],
    ['ENOTFOUND', 'unknown_host'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect_timeout'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['EHOSTUNREACH', 'unreachable'],
  ])('%s before anything was sent is AGENT_OFFLINE, and "%s" says why', (code, reason) => {
    const failure = connectionFailure(withCode(code), { sent: false, answered: false });
    expect(failure).toMatchObject({ code: 'AGENT_OFFLINE', details: { reason, sent: false } });
    expect(isAway(failure)).toBe(true);
  });

  it('is found in what wraps it', () => {
    const cause = new AggregateError([withCode('ECONNREFUSED')]);
    expect(unreachableReason(new TypeError('fetch failed', { cause }))).toBe('refused');
  });

  it('after the request was sent says nothing of sent, and is no answer once a part of it came', () => {
    const lost = (answered: boolean) =>
      connectionFailure(withCode('ECONNRESET'), { sent: true, answered });
    expect(lost(false)).toMatchObject({ code: 'AGENT_OFFLINE' });
    expect(lost(true)).toMatchObject({ code: 'UPSTREAM_ERROR' });
    expect(lost(true).details).not.toHaveProperty('sent');
    expect(isAway(lost(true))).toBe(true);
  });

  it('keeps an error of ours', () => {
    const ours = new FabricError('AUTH_DENIED', 'no');
    const failure = connectionFailure(ours, { sent: false, answered: false });
    expect(failure).toMatchObject({ code: 'AUTH_DENIED', details: { sent: false } });
    expect(isAway(failure)).toBe(false);
  });
});
