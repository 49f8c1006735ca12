import { FabricError } from '@starloom/core';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { assertParamHeaders } from '../../src/mcp/to-caller.ts';
import type { Tool } from '../../src/tools/tool.ts';

const REGION = { type: 'string', 'x-mcp-header': 'Region' };
const LIMIT = { type: 'integer', 'x-mcp-header': 'Limit' };
const inputSchema = { type: 'object', properties: { region: REGION, limit: LIMIT } };
const tool: Tool = {
  definition: { name: 'percy.search', inputSchema },
  mayUse: () => true,
  run: () => Promise.reject(new Error('not called')),
};
const catalog = { find: (name: string) => (name === 'percy.search' ? tool : undefined) };

const call = (given: Record<string, unknown>, meta: Record<string, unknown> = CURRENT) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'percy.search', arguments: given, _meta: meta },
});
const CURRENT = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };

function refusal(body: unknown, headers: Record<string, string>): FabricError | undefined {
  try {
    assertParamHeaders(catalog, body, headers, LOCAL_PRINCIPAL);
    return undefined;
  } catch (error) {
    return FabricError.from(error);
  }
}

describe('arguments mirrored in headers', () => {
  it.each([
    ['as they are', { region: 'eu', limit: 5 }, 'eu', '5'],
    ['as base64', { region: 'Zürich', limit: 5 }, '=?base64?WsO8cmljaA==?=', '5'],
    ['as base64 without need', { region: 'eu', limit: 5 }, '=?base64?ZXU=?=', '5'],
    [
      'with half a marker, which is text',
      { region: '=?base64?ZXU=', limit: 5 },
      '=?base64?ZXU=',
      '5',
    ],
  ])('may come %s', (_, given, region, limit) => {
    const headers = { 'mcp-param-region': region, 'mcp-param-limit': limit };
    expect(refusal(call(given), headers)).toBeUndefined();
  });

  it.each([
    ['say something else', { 'mcp-param-region': 'us' }],
    ['are left out', {}],
    ['are base64 without its padding', { 'mcp-param-region': '=?base64?ZXU?=' }],
    ['are base64 with other letters', { 'mcp-param-region': '=?base64?Z!XU=?=' }],
  ])('are refused when they %s', (_, headers) => {
    const error = refusal(call({ region: 'eu' }), headers);
    expect(error?.code).toBe('BAD_INPUT');
    expect(error?.details).toMatchObject({
      reason: 'header_mismatch',
      header: 'mcp-param-region',
      rpc_code: -32_020,
    });
  });

  it('need no header when the argument is not there', () => {
    expect(refusal(call({ region: null }), {})).toBeUndefined();
    expect(refusal(call({}), { 'mcp-param-region': 'ignored' })).toBeUndefined();
  });

  it('are no matter for older clients, other methods and unknown tools', () => {
    expect(refusal(call({ region: 'eu' }, {}), {})).toBeUndefined();
    expect(refusal({ ...call({ region: 'eu' }), method: 'tools/list' }, {})).toBeUndefined();
    expect(refusal({ method: 'tools/call', params: { name: 'other' } }, {})).toBeUndefined();
    expect(refusal(undefined, {})).toBeUndefined();
  });
});
