import { describe, expect, it } from 'vitest';
import { createTrace, ERRORS, errorPayloadSchema, FabricError, isErrorCode } from '../src/index.ts';

/** The table of the contracts: code, JSON-RPC, HTTP, exit, fallback, retry. */
const CONTRACT = `
BAD_INPUT -32602 400 2 no no
AUTH_DENIED -32001 401 3 upstream no
POLICY_DENIED -32003 403 3 no no
CAPABILITY_NOT_FOUND -32004 404 4 yes no
JOB_NOT_FOUND -32004 404 4 no no
AGENT_OFFLINE -32005 503 5 yes yes
TIMEOUT -32006 504 6 yes yes
UPSTREAM_ERROR -32007 502 7 yes depends
RECURSION_LIMIT -32008 508 8 no no
RATE_LIMITED -32009 429 9 yes later
OVERLOADED -32010 503 9 yes yes
MANIFEST_CHANGED -32011 409 10 yes no
CANCELLED -32012 499 130 no no
INPUT_REQUIRED -32017 409 11 no depends
INTERNAL -32603 500 1 yes no`;

describe('the error table', () => {
  it('is the one of the contracts', () => {
    const table = Object.entries(ERRORS).map(([code, { rpc, http, exit, fallback, retry }]) =>
      [code, rpc, http, exit, fallback, retry].join(' '),
    );
    expect(table).toEqual(CONTRACT.trim().split('\n'));
  });

  it('keeps our JSON-RPC codes out of the range of MCP', () => {
    for (const { rpc } of Object.values(ERRORS)) {
      expect(rpc <= -32100 || rpc > -32020).toBe(true);
    }
  });

  it('knows its codes and no inherited word', () => {
    expect(isErrorCode('TIMEOUT')).toBe(true);
    for (const word of ['timeout', 'toString', '__proto__', 7, undefined]) {
      expect(isErrorCode(word)).toBe(false);
    }
  });
});

describe('FabricError', () => {
  const error = new FabricError('TIMEOUT', 'Too slow', { details: { agent_id: 'percy' } });

  it('is recognised across two copies of the package', () => {
    const twin = { [Symbol.for('io.starloom/FabricError')]: true };
    expect(FabricError.is(error)).toBe(true);
    expect(FabricError.is(twin)).toBe(true);
    expect(FabricError.is(new Error('x'))).toBe(false);
    expect(FabricError.is(null)).toBe(false);
  });

  it('writes the canonical payload', () => {
    const trace = createTrace();
    const payload = JSON.parse(JSON.stringify(error.toPayload(trace)));
    expect(errorPayloadSchema.parse(payload)).toEqual(payload);
    expect(payload).toEqual({
      ok: false,
      error: { code: 'TIMEOUT', message: 'Too slow', details: { agent_id: 'percy' } },
      trace,
    });
  });

  it('takes more details and keeps those it has', () => {
    const more = error.with({ agent_id: 'other', capability: 'reason' });
    expect(more.details).toEqual({ agent_id: 'percy', capability: 'reason' });
    expect(more.code).toBe('TIMEOUT');
  });

  it('keeps the meaning of aborts and timeouts', () => {
    expect(FabricError.from(error)).toBe(error);
    expect(FabricError.from(AbortSignal.abort().reason).code).toBe('CANCELLED');
    expect(FabricError.from(new DOMException('late', 'TimeoutError')).code).toBe('TIMEOUT');
  });

  it('hides a bug from the caller and keeps it for the log', () => {
    const bug = new TypeError('password is undefined');
    const wrapped = FabricError.from(bug);
    expect(wrapped.code).toBe('INTERNAL');
    expect(wrapped.cause).toBe(bug);
    expect(JSON.stringify(wrapped.toPayload(null))).not.toContain('password');
    expect(FabricError.from('thrown text').code).toBe('INTERNAL');
  });
});
