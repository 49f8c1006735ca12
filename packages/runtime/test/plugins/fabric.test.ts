import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { freePort, temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openPlugin } from './open-plugin.ts';

/** Refuses every client, and remembers their credentials. */
async function openClosedGateway() {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer(({ headers }, response) => {
    seen.push(headers);
    response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const failure = (code: string) => expect.objectContaining({ code });

describe('the fabric plugin', () => {
  it('shows the key it was given, by variable, by file or as usual', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'key'), 'from-file\n');
    await using gateway = await openClosedGateway();
    const shown = async (config: object, env: Record<string, string>) => {
      gateway.seen.length = 0;
      await using fabric = await openPlugin('fabric', { folder: folder.path, config, env });
      await expect(fabric.run('fabric:agents')).rejects.toThrow(failure('AUTH_DENIED'));
      return new Set(gateway.seen.map(({ authorization }) => authorization));
    };
    const { url } = gateway;
    const by = (text: string | undefined) => new Set([text]);
    expect(await shown({ url, key: 'env:MINE' }, { MINE: 'a' })).toEqual(by('Bearer a'));
    expect(await shown({ url, key: 'file:key' }, {})).toEqual(by('Bearer from-file'));
    expect(await shown({}, { STARLOOM_URL: url, STARLOOM_KEY: 'b' })).toEqual(by('Bearer b'));
    expect(await shown({ url }, {})).toEqual(by(undefined));
  });

  it('does not start with a key that is not there, or that stands in the file', async () => {
    const missing = openPlugin('fabric', { folder: '/', config: { key: 'env:NONE' } });
    await expect(missing).rejects.toThrow(failure('BAD_INPUT'));
    const literal = openPlugin('fabric', { folder: '/', config: { key: 'secret' } });
    await expect(literal).rejects.toThrow(/env:NAME or file:PATH/);
  });

  it('says when no gateway is there', async () => {
    const config = { url: `http://127.0.0.1:${await freePort()}` };
    await using fabric = await openPlugin('fabric', { folder: '/', config });
    const call = { agent_id: 'percy', capability: 'work', task: 'x' };
    await expect(fabric.run('fabric:call', call)).rejects.toThrow(failure('AGENT_OFFLINE'));
  });
});
