import { Server, type ServerContext } from '@modelcontextprotocol/server';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { declaredBy, notifyClient } from '../../src/mcp/client-side.ts';
import type { Connection } from '../../src/mcp/connection.ts';

const connection: Connection = {
  principal: LOCAL_PRINCIPAL,
  transport: 'stdio',
  headers: {},
  toolNames: 'dots',
  toolsets: ['agents'],
  room: () => undefined,
  cut: () => {},
};

/** The part of a request's context that counts here, and what was said through it. */
function openContext(mcpReq: Record<string, unknown> = {}) {
  const said: unknown[] = [];
  const log = async (...message: unknown[]) => void said.push(message);
  const notify = async ({ method }: { method: string }) => void said.push(method);
  const context = { mcpReq: { log, notify, ...mcpReq } } as unknown as ServerContext;
  return { context, said };
}

describe('what an agent says beside its answer', () => {
  it('reaches the client as progress, and as log messages under the rules for those', async () => {
    const { context, said } = openContext();
    const progress = { method: 'notifications/progress', params: { progressToken: 1 } };
    const message = { level: 'info', data: { at: 'work' }, logger: 'percy' };
    await notifyClient(connection, context, progress);
    await notifyClient(connection, context, { method: 'notifications/message', params: message });
    expect(said).toEqual(['notifications/progress', ['info', { at: 'work' }, 'percy']]);
  });

  it.each([
    'notifications/cancelled',
    'notifications/tools/list_changed',
    'notifications/resources/updated',
    'anything/else',
  ])('does not reach the client as %s', async (method) => {
    const { context, said } = openContext();
    await notifyClient(connection, context, { method });
    expect(said).toEqual([]);
  });

  it('waits while the client does not read', async () => {
    const { context, said } = openContext();
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = { ...connection, room: () => promise };
    const told = notifyClient(slow, context, { method: 'notifications/progress' });
    expect(said).toEqual([]);
    resolve();
    await told;
    expect(said).toEqual(['notifications/progress']);
  });
});

describe('what a client can do', () => {
  const server = new Server({ name: 'test', version: '0' });

  it('is what its request says', () => {
    const envelope = { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } };
    expect(declaredBy(server, openContext({ envelope }).context)).toEqual(envelope);
  });

  it('is unknown of an older client that no longer says it, but it may be told everything', () => {
    expect(declaredBy(server, openContext().context)).toEqual({
      'io.modelcontextprotocol/logLevel': 'debug',
    });
  });
});
