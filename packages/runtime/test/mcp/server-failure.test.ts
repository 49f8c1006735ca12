import { FabricError, statusFailure } from '@starloom/core';
import { rpcFailure } from '@starloom/mcp-client';
import { describe, expect, it } from 'vitest';
import { serverFailure } from '../../src/mcp/client/open-client.ts';

describe('a failure of an MCP server', () => {
  it('names the server, and agent.toml as the place to correct', () => {
    const failure = serverFailure('web', statusFailure({ status: 401 }));
    expect(failure).toMatchObject({ code: 'AUTH_DENIED', details: { server: 'web', status: 401 } });
    expect(failure.message).toMatch(/^The MCP server "web" did not accept our credentials/);
    expect(failure.details.fix).toBe('set "headers" of the server in agent.toml');
  });

  it('keeps the words of the server when it answered with an error', () => {
    const failure = serverFailure('web', rpcFailure({ code: -32_602, message: 'a must be > 0' }));
    expect(failure).toMatchObject({ code: 'BAD_INPUT', message: 'a must be > 0' });
  });

  it('keeps what another Starloom reported, which speaks of its own agents', () => {
    const reported = new FabricError('AGENT_OFFLINE', 'The agent is offline', {
      details: { reason: 'refused', fix: 'start percy' },
    });
    const failure = serverFailure(
      'gateway',
      rpcFailure({ code: -32_005, message: '', data: reported.toPayload(null) }),
    );
    expect(failure).toMatchObject({
      code: 'AGENT_OFFLINE',
      message: 'The agent is offline',
      details: { fix: 'start percy', server: 'gateway' },
    });
  });
});
