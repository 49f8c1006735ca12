import { type Log, silentLog } from '@starloom/core';
import { createExcerpt } from '@starloom/wire';
import { expect, it } from 'vitest';
import { FIRST_EXCHANGE_ID } from '../src/agent-transport.ts';
import { StdioClientTransport } from '../src/stdio-transport.ts';

const PROGRAM = `
  require('node:fs').closeSync(0);
  console.error('cannot open the database');
  setTimeout(() => process.exit(3), 300);
`;

it('a program that closes its input and ends is reported with its exit and stderr', async () => {
  const wroteStderr = Promise.withResolvers<void>();
  const log: Log = { ...silentLog, debug: () => wroteStderr.resolve() };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--eval', PROGRAM],
    env: {},
    maxMessageBytes: 1_048_576,
    excerpt: createExcerpt({}),
    log,
  });
  const upstream = { exit_code: 3, stderr: expect.stringContaining('cannot open the database') };
  const gone = { code: 'AGENT_OFFLINE', details: { reason: 'process_ended', upstream } };
  try {
    await transport.start();
    await wroteStderr.promise;
    const message = { jsonrpc: '2.0', method: 'tools/list', params: {} } as const;
    const sent = transport.send(message).catch((error: unknown) => error);
    const exchange = transport.exchange({ ...message, id: FIRST_EXCHANGE_ID });
    await exchange.ready();
    expect(exchange.failure).toMatchObject(gone);
    expect(await sent).toMatchObject(gone);
  } finally {
    await transport.close();
  }
});
