import { describe, expect, it } from 'vitest';
import { toHeaderValue } from '../src/http-headers.ts';
import { findParamHeaders, toParamHeaders } from '../src/param-headers.ts';

const region = { type: 'string', 'x-mcp-header': 'Region' };

describe('arguments that an agent wants in headers', () => {
  it('are found at any depth of properties', () => {
    const schema = { properties: { where: { properties: { region } }, name: { type: 'string' } } };
    expect(findParamHeaders(schema)).toEqual([{ path: ['where', 'region'], header: 'Region' }]);
    expect(findParamHeaders({ properties: {} })).toEqual([]);
    expect(findParamHeaders(undefined)).toEqual([]);
  });

  it('are written for what is there and plain', () => {
    const declared = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      path: [name],
      header: `H-${name}`,
    }));
    const given = { a: 'x', b: 7, c: false, d: null, e: { deep: true } };
    expect(toParamHeaders(declared, given)).toEqual({
      'mcp-param-h-a': 'x',
      'mcp-param-h-b': '7',
      'mcp-param-h-c': 'false',
    });
    expect(toParamHeaders(declared, undefined)).toEqual({});
  });

  it.each([
    ['Zürich', '=?base64?WsO8cmljaA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['a\r\nx-evil: 1', '=?base64?YQ0KeC1ldmlsOiAx?='],
    ['', '=?base64??='],
    ['=?base64?QQ==?=', '=?base64?PT9iYXNlNjQ/UVE9PT89?='],
    ['two words', 'two words'],
  ])('travel in one line of ASCII: %j', (text, header) => {
    expect(toHeaderValue(text)).toBe(header);
  });

  it.each([
    ['under items', { properties: { list: { type: 'array', items: region } } }],
    ['under anyOf', { anyOf: [{ properties: { region } }] }],
    ['in definitions', { $defs: { region } }],
    ['at the root', region],
    ['on an object', { properties: { where: { type: 'object', 'x-mcp-header': 'Where' } } }],
    ['on a number', { properties: { ratio: { type: 'number', 'x-mcp-header': 'Ratio' } } }],
    [
      'with a name that is no token',
      { properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } },
    ],
    ['twice', { properties: { a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } } }],
  ])('make a tool unusable when declared %s', (_, schema) => {
    expect(findParamHeaders(schema)).toBeUndefined();
  });

  it('are not looked for in data', () => {
    const schema = {
      properties: { a: { type: 'object', default: { b: region }, enum: [region] } },
    };
    expect(findParamHeaders(schema)).toEqual([]);
  });
});
