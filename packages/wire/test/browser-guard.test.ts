import { describe, expect, it } from 'vitest';
import { createBrowserGuard } from '../src/index.ts';

const refused = (reason: string) =>
  expect.objectContaining({
    code: 'POLICY_DENIED',
    details: expect.objectContaining({ reason, fix: expect.any(String) }),
  });

describe('the guard against pages of a browser', () => {
  it.each([
    ['127.0.0.1', { host: '127.0.0.1:7420' }],
    ['127.0.0.1', { host: 'localhost' }],
    ['::1', { host: '[::1]:7420', origin: 'http://[::1]:7420' }],
    ['127.0.0.1', { host: 'LOCALHOST:1', origin: 'http://localhost:3000' }],
    ['agent.internal', { host: 'agent.internal:80', origin: 'https://Agent.Internal' }],
    ['0.0.0.0', { host: '192.0.2.7:80', origin: 'http://192.0.2.7' }],
    ['::', { host: '[2001:db8::1]:80' }],
  ])('on %s lets %j in', (host, headers) => {
    expect(() => createBrowserGuard(host)(headers)).not.toThrow();
  });

  it.each([
    ['127.0.0.1', { host: 'evil.example' }, 'host'],
    ['127.0.0.1', {}, 'host'],
    ['127.0.0.1', { host: '192.0.2.7' }, 'host'],
    ['0.0.0.0', { host: 'rebound.example' }, 'host'],
    ['127.0.0.1', { host: 'localhost', origin: 'https://evil.example' }, 'origin'],
    ['127.0.0.1', { host: 'localhost', origin: 'null' }, 'origin'],
    ['0.0.0.0', { host: '192.0.2.7', origin: 'http://192.0.2.8' }, 'origin'],
  ])('on %s refuses %j for its %s', (host, headers, reason) => {
    expect(() => createBrowserGuard(host)(headers)).toThrow(refused(reason));
  });
});
