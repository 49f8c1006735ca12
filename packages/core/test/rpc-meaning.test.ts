import { describe, expect, it } from 'vitest';
import { rpcMeaning } from '../src/index.ts';

describe('an error code of JSON-RPC', () => {
  it.each([
    [-32_601, 'CAPABILITY_NOT_FOUND', 'method_not_found'],
    [-32_602, 'BAD_INPUT', 'invalid_params'],
    [-32_603, 'UPSTREAM_ERROR', 'rpc_error'],
    [-32_700, 'UPSTREAM_ERROR', 'rpc_error'],
  ])('%i means %s', (code, meaning, reason) => {
    expect(rpcMeaning(code)).toMatchObject({ code: meaning, reason });
  });

  it.each([-32_000, 0, 7])(
    'that the protocol does not define is the answer of the agent: %i',
    (code) => {
      expect(rpcMeaning(code)).toMatchObject({ code: 'UPSTREAM_ERROR', reason: 'tool_error' });
    },
  );
});
