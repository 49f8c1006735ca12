import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { toRefusal } from '../src/index.ts';

const parse = (body: string) => JSON.parse(body).error;

describe('a refusal over HTTP', () => {
  it('is a JSON-RPC error whose data is the canonical payload', () => {
    const error = new FabricError('RATE_LIMITED', 'Too often', { details: { retry_after_ms: 5 } });
    const { status, body, headers } = toRefusal(error, 7);
    expect({ status, headers }).toEqual({
      status: 429,
      headers: { 'content-type': 'application/json', 'retry-after': '1' },
    });
    expect(JSON.parse(body)).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32009,
        message: 'Too often',
        data: { ok: false, error: { code: 'RATE_LIMITED', details: { retry_after_ms: 5 } } },
      },
    });
  });

  it('says when to ask again, and which limit was met', () => {
    const details = {
      reason: 'rate_per_principal',
      limit: 60,
      window_s: 60,
      retry_after_ms: 1_001,
    };
    expect(toRefusal(new FabricError('RATE_LIMITED', 'x', { details }), 1).headers).toMatchObject({
      'retry-after': '2',
      'ratelimit-policy': '"rate_per_principal";q=60;w=60',
      ratelimit: '"rate_per_principal";r=0;t=2',
    });
    const busy = new FabricError('OVERLOADED', 'x', { details: { limit: 9, retry_after_ms: 1 } });
    expect(toRefusal(busy, 1).headers).toEqual({
      'content-type': 'application/json',
      'retry-after': '1',
    });
  });

  it('takes status and code from the details where HTTP or JSON-RPC has one of its own', () => {
    const details = { http_status: 413, rpc_code: -32700, limit: 1 };
    const { status, body, headers } = toRefusal(
      new FabricError('BAD_INPUT', 'x', { details }),
      null,
    );
    expect({ status, connection: headers.connection }).toEqual({
      status: 413,
      connection: 'close',
    });
    expect(parse(body).code).toBe(-32700);
    expect(parse(body).data.error.details).toEqual({ limit: 1 });
  });

  it('asks for a bearer key with 401', () => {
    const { status, headers } = toRefusal(new FabricError('AUTH_DENIED', 'Who?'), null);
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toContain('Bearer');
  });

  it('says nothing of a bug but its code', () => {
    const { status, body } = toRefusal(new TypeError('secret path'), null);
    expect(status).toBe(500);
    expect(body).not.toContain('secret path');
  });

  it('has the words beside the payload in the dialect of coordination', () => {
    const { body } = toRefusal(new FabricError('BAD_INPUT', 'No such field'), 1, 'details');
    expect(parse(body).data).toMatchObject({ ok: false, details: 'No such field' });
  });

  it('has one code for all that is not allowed in the dialect of coordination', () => {
    const denied = new FabricError('POLICY_DENIED', 'Not from there');
    expect(toRefusal(denied, 1, 'details')).toMatchObject({ status: 403 });
    expect(parse(toRefusal(denied, 1, 'details').body).code).toBe(-32001);
    expect(parse(toRefusal(denied, 1).body).code).toBe(-32003);
  });
});
