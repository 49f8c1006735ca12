import { describe, expect, it } from 'vitest';
import { pickCredentials, readBearer, readWebSocketProtocols } from '../src/index.ts';

describe('credentials', () => {
  it('finds none where there is none', () => {
    expect(readBearer({ host: 'localhost', authorization: undefined })).toBeUndefined();
    expect(readWebSocketProtocols(undefined)).toEqual({ bearer: undefined, protocols: [] });
  });

  it('keeps keys made elsewhere, such as base64 with its signs', () => {
    expect(readBearer({ authorization: 'Bearer ab+/cd~.e-_f==' })).toBe('ab+/cd~.e-_f==');
  });

  it('separates the key from the protocols that the server may choose', () => {
    const key = 'a key? no: a/key+with=signs'.replaceAll(' ', '-');
    const encoded = Buffer.from(key).toString('base64url');
    expect(readWebSocketProtocols(`mcp,bearer.${encoded} , other`)).toEqual({
      bearer: key,
      protocols: ['mcp', 'other'],
    });
    expect(readWebSocketProtocols(['mcp', `bearer.${encoded}`]).bearer).toBe(key);
  });

  it('takes a protocol whose name merely begins like a credential for what it is', () => {
    expect(readWebSocketProtocols('bearers, mcp')).toEqual({
      bearer: undefined,
      protocols: ['bearers', 'mcp'],
    });
  });

  it('are picked out of all headers, each as often as it came and in any case', () => {
    const raw = ['Host', 'a', 'AUTHORIZATION', 'Bearer x', 'authorization', 'Bearer y'];
    const more = ['X-Agent-Passport', 'p', 'Sec-WebSocket-Protocol', 'mcp', 'If-None-Match', 'z'];
    expect(pickCredentials([...raw, ...more])).toEqual({
      authorization: ['Bearer x', 'Bearer y'],
      'x-agent-passport': ['p'],
      'sec-websocket-protocol': ['mcp'],
    });
    expect(pickCredentials(['Content-Type', 'text/plain', 'X-Authorised-13', 'no'])).toEqual({});
  });
});
