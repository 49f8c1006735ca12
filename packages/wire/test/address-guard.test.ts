import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import { connect, type LookupFunction } from 'node:net';
import { FabricError } from '@starloom/core';
import { fetch, request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AddressGuardOptions, createAddressGuard } from '../src/address-guard.ts';
import { listen } from './fixtures/http-server.ts';

describe('check', () => {
  it.each([
    ['http://127.0.0.1/', 'loopback'],
    ['http://127.8.9.10:8080/x?y', 'loopback'],
    ['http://[::1]/', 'loopback'],
    ['http://10.1.2.3/', 'private'],
    ['http://192.168.0.1/', 'private'],
    ['http://172.31.255.255/', 'private'],
    ['http://[fd12:3456::1]/', 'uniqueLocal'],
    ['http://169.254.1.1/', 'linkLocal'],
    ['http://169.254.169.254/latest/meta-data/', 'metadata'],
    ['http://[fd00:ec2::254]/', 'metadata'],
    ['http://[fe80::1]/', 'linkLocal'],
    ['http://100.64.0.1/', 'carrierGradeNat'],
    ['http://0.0.0.0/', 'unspecified'],
    ['http://[::]/', 'unspecified'],
    ['http://224.0.0.1/', 'multicast'],
    ['http://255.255.255.255/', 'broadcast'],
    ['http://198.18.0.1/', 'reserved'],
    ['http://[::ffff:127.0.0.1]/', 'ipv4Mapped'],
    ['http://[::ffff:8.8.8.8]/', 'ipv4Mapped'],
    ['http://[::127.0.0.1]/', 'reserved'],
    ['http://[64:ff9b::7f00:1]/', 'rfc6052'],
    ['http://[2002:7f00:1::]/', '6to4'],
    ['http://[2001:0:7f00:1::]/', 'teredo'],
    ['http://localhost/', 'loopback'],
    ['http://LOCALHOST:80/', 'loopback'],
    ['http://agent.localhost/', 'loopback'],
    ['http://ⓛocalhost/', 'loopback'],
    ['http://localhost./', 'odd_spelling'],
    ['http://example.com./', 'odd_spelling'],
    ['http://2130706433/', 'odd_spelling'],
    ['http://0x7f000001/', 'odd_spelling'],
    ['http://0177.0.0.1/', 'odd_spelling'],
    ['http://127.1/', 'odd_spelling'],
    ['http://127.0.0.1./', 'odd_spelling'],
    ['http://0/', 'odd_spelling'],
    ['http://134744072/', 'odd_spelling'],
    ['http://%31%32%37.0.0.1/', 'odd_spelling'],
    ['http://１２７.0.0.1/', 'odd_spelling'],
    ['http://127.0.\t0.1/', 'odd_spelling'],
    ['http:\\\\127.0.0.1/', 'odd_spelling'],
    ['http:8.8.8.8', 'odd_spelling'],
    ['http://user@example.com/', 'user_info'],
    ['http://:secret@example.com/', 'user_info'],
    ['http://example.com@127.0.0.1/', 'user_info'],
    ['ftp://example.com/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['data:text/plain,x', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['gopher://127.0.0.1:6379/_x', 'scheme'],
    ['//example.com/', 'bad_url'],
    ['http://256.1.1.1/', 'bad_url'],
    ['http://[fe80::1%25eth0]/', 'bad_url'],
    ['', 'bad_url'],
  ])('refuses %j as %s', (url, reason) => {
    const error = refusalOf(() => createAddressGuard().check(url));
    expect(error).toMatchObject({ code: 'POLICY_DENIED', details: { reason } });
    expect(Object.keys(error.details).sort()).toEqual(['address', 'fix', 'host', 'reason']);
    expect(JSON.stringify(error.details)).not.toContain('secret');
  });

  it.each([
    'https://example.com/',
    'http://8.8.8.8:8080/path',
    'HTTPS://8.8.8.8',
    'https://[2606:4700:4700::1111]/',
    'https://mylocalhost/',
    'https://localhost.example.com/',
    'https://10.example.com/',
    'https://bücher.example/',
  ])('lets %j through', (url) => {
    const guard = createAddressGuard();
    guard.check(url);
    guard.check(new URL(url));
  });

  it('takes a URL object by what it means, for its spelling is gone', () => {
    createAddressGuard().check(new URL('http://134744072/'));
    expect(reasonOf({}, new URL('http://2130706433/'))).toBe('loopback');
  });

  it('names host, address and cure', () => {
    expect(refusalOf(() => createAddressGuard().check('http://10.1.2.3/')).details).toEqual({
      host: '10.1.2.3',
      address: '10.1.2.3',
      reason: 'private',
      fix: expect.stringContaining('allow list'),
    });
  });

  it.each<[string, AddressGuardOptions, string[], string[]]>([
    [
      'a range',
      { allow: ['127.0.0.0/8'] },
      ['http://127.0.0.1:1/', 'http://127.9.9.9/', 'http://localhost/', 'http://a.localhost/'],
      ['http://[::1]/', 'http://10.0.0.1/', 'http://127.1/', 'http://user@127.0.0.1/'],
    ],
    ['an address', { allow: ['10.0.0.7'] }, ['http://10.0.0.7/'], ['http://10.0.0.8/']],
    [
      'an IPv6 address',
      { allow: ['[::1]'] },
      ['http://[::1]/', 'http://localhost/'],
      ['http://127.0.0.1/'],
    ],
    [
      'a name',
      { allow: ['LocalHost'] },
      ['http://localhost/'],
      ['http://127.0.0.1/', 'http://a.localhost/'],
    ],
    [
      'private networks',
      { allowPrivate: true },
      ['http://10.0.0.1/', 'http://172.16.0.1/', 'http://192.168.1.1/', 'http://[fd12::1]/'],
      [
        'http://127.0.0.1/',
        'http://169.254.169.254/',
        'http://100.64.0.1/',
        'http://[fd00:ec2::254]/',
      ],
    ],
    [
      'a range around a metadata address, without it',
      { allow: ['169.254.0.0/16', '0.0.0.0/0'] },
      ['http://169.254.1.1/', 'http://127.0.0.1/'],
      ['http://169.254.169.254/', 'http://168.63.129.16/'],
    ],
    ['a metadata address by name', { allow: ['169.254.169.254'] }, ['http://169.254.169.254/'], []],
  ])('can be opened for %s', (_name, options, open, closed) => {
    const guard = createAddressGuard(options);
    for (const url of open) guard.check(url);
    for (const url of closed) expect(() => guard.check(url), url).toThrow(FabricError);
  });

  it.each([
    '',
    '10.0.0.0/33',
    'http://a.example',
    'a.example:80',
    'a.example/x',
    '127.1',
    'a b',
    'u@a',
  ])('refuses %j as an entry of the allow list', (entry) => {
    expect(refusalOf(() => createAddressGuard({ allow: [entry] }))).toMatchObject({
      code: 'BAD_INPUT',
      details: { entry },
    });
  });

  it.each([
    `http://${'a.'.repeat(50_000)}localhost/`,
    `http://${'['.repeat(100_000)}`,
    `http://${'localhost.'.repeat(10_000)}`,
    `http://${'%'.repeat(100_000)}`,
    `http://[${':'.repeat(100_000)}]`,
    `${' '.repeat(100_000)}http://127.1`,
  ])('judges 100 KB of malice without delay (case %#)', (url) => {
    expect(() => createAddressGuard().check(url)).toThrow(FabricError);
  });
});

describe('lookup', () => {
  it('hands out only the addresses that may be dialled', async () => {
    const { lookup } = createAddressGuard({
      resolve: resolver(['10.0.0.1', '93.184.216.34', '::1', '2606:4700::1']),
    });
    expect(await lookedUp(lookup, { all: true })).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect(await lookedUp(lookup, {})).toEqual(['93.184.216.34', 4]);
  });

  it.each([
    ['127.0.0.1', 'loopback'],
    ['fe80::1%eth0', 'linkLocal'],
    ['::ffff:169.254.169.254', 'ipv4Mapped'],
    ['garbage', 'no_address'],
  ])('refuses a name that resolves to %s', async (address, reason) => {
    const { lookup } = createAddressGuard({ resolve: resolver([address]) });
    await expect(lookedUp(lookup, { all: true })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { host: 'evil.example', address, reason },
    });
  });

  it('refuses a name without addresses, and passes on that there is no such name', async () => {
    const none = createAddressGuard({ resolve: resolver([]) });
    await expect(lookedUp(none.lookup, {})).rejects.toMatchObject({ code: 'POLICY_DENIED' });
    const missing = createAddressGuard({
      resolve: (_host, _options, callback) =>
        callback(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []),
    });
    await expect(lookedUp(missing.lookup, {})).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('trusts an allowed name with whatever it resolves to', async () => {
    const { lookup } = createAddressGuard({
      allow: ['Evil.Example.'],
      resolve: resolver(['10.0.0.1']),
    });
    expect(await lookedUp(lookup, {})).toEqual(['10.0.0.1', 4]);
  });

  it('asks the resolver of the system by default', async () => {
    const closed = createAddressGuard();
    await expect(lookedUp(closed.lookup, {}, 'localhost')).rejects.toMatchObject({
      code: 'POLICY_DENIED',
    });
    const open = createAddressGuard({ allow: ['127.0.0.0/8', '::1'] });
    expect(await lookedUp(open.lookup, { all: true }, 'localhost')).not.toEqual([]);
  });

  it.each(['0177.0.0.1', '2130706433', '0x7f.1'])(
    'is not fooled by a resolver that understands %s',
    async (host) => {
      const { lookup } = createAddressGuard();
      await expect(lookedUp(lookup, { all: true }, host)).rejects.toThrow();
    },
  );

  it('works as the lookup of a plain socket', async () => {
    await using server = await countingServer();
    const open = createAddressGuard({
      allow: ['127.0.0.1'],
      resolve: resolver(['10.0.0.1', '127.0.0.1']),
    });
    const socket = connect({ host: 'agent.example', port: server.port, lookup: open.lookup });
    onTestFinished(() => void socket.destroy());
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    expect(socket.remoteAddress).toBe('127.0.0.1');
  });
});

describe('dispatcher', () => {
  it('reaches a loopback agent that the configuration names', async () => {
    await using server = await countingServer();
    const dispatcher = guarded({ allow: ['127.0.0.0/8'] });
    const { statusCode } = await request(server.url, { dispatcher });
    expect([statusCode, server.reports]).toEqual([200, ['GET /']]);
  });

  it.each(['127.0.0.1', 'localhost', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1'])(
    'opens no connection to %s, even when nobody called check',
    async (host) => {
      await using server = await countingServer();
      const dispatcher = guarded({});
      await expect(request(`http://${host}:${server.port}/`, { dispatcher })).rejects.toMatchObject(
        { code: 'POLICY_DENIED' },
      );
      expect([server.connections, server.reports]).toEqual([0, []]);
    },
  );

  it('is not fooled by a host header or server name', async () => {
    await using server = await countingServer();
    const dispatcher = guarded({});
    await expect(
      request(server.url, { dispatcher, headers: { host: 'example.com' } }),
    ).rejects.toMatchObject({ code: 'POLICY_DENIED' });
    expect(server.connections).toBe(0);
  });

  it('judges the address it dials, not the one that was checked before', async () => {
    await using server = await countingServer();
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const options = {
      resolve: ((host, lookupOptions, callback) =>
        resolver(answers.shift() ?? [])(host, lookupOptions, callback)) satisfies LookupFunction,
    };
    const guard = createAddressGuard(options);
    const url = `http://rebind.example:${server.port}/`;
    guard.check(url);
    expect(await lookedUp(guard.lookup, {}, 'rebind.example')).toEqual(['93.184.216.34', 4]);
    const dispatcher = guard.dispatcher();
    onTestFinished(() => dispatcher.close());
    await expect(request(url, { dispatcher })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { host: 'rebind.example', address: '127.0.0.1', reason: 'loopback' },
    });
    expect(server.connections).toBe(0);
  });

  it('does not follow redirects', async () => {
    await using target = await countingServer();
    await using server = await redirectTo(target.url);
    const dispatcher = guarded({ allow: ['127.0.0.0/8'] });
    const { statusCode, headers } = await request(server.url, { dispatcher });
    expect([statusCode, headers.location]).toEqual([302, target.url]);
    expect(target.connections).toBe(0);
  });

  it('checks each hop when fetch follows redirects by itself', async () => {
    await using target = await countingServer();
    await using server = await redirectTo(`http://localhost:${target.port}/`);
    const dispatcher = guarded({
      allow: ['front.example'],
      resolve: resolver(['127.0.0.1']),
    });
    const failure = await fetch(`http://front.example:${server.port}/`, { dispatcher }).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ cause: { code: 'POLICY_DENIED' } });
    expect(target.connections).toBe(0);
  });

  it('keeps the options of the agent, but no other lookup than its own', async () => {
    await using server = await countingServer();
    const guard = createAddressGuard({ allow: ['127.0.0.1'], resolve: resolver(['10.0.0.1']) });
    const dispatcher = guard.dispatcher({
      maxResponseSize: 1,
      connect: { lookup: resolver(['127.0.0.1']) },
    });
    onTestFinished(() => dispatcher.destroy());
    const { body } = await request(server.url, { dispatcher });
    await expect(body.text()).rejects.toMatchObject({ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' });
    await expect(
      request(`http://evil.example:${server.port}/`, { dispatcher }),
    ).rejects.toMatchObject({ details: { reason: 'private' } });
  });
});

async function countingServer() {
  const peers: (string | undefined)[] = [];
  const server = createServer((incoming, response) => {
    listening.report(`${incoming.method} ${incoming.url}`);
    response.end('ok');
  });
  server.on('connection', (socket) => peers.push(socket.remoteAddress));
  const listening = await listen(server);
  return {
    ...listening,
    peers,
    get connections() {
      return peers.length;
    },
  };
}

function redirectTo(location: string) {
  return listen(createServer((_request, response) => response.writeHead(302, { location }).end()));
}

function guarded(options: AddressGuardOptions) {
  const dispatcher = createAddressGuard(options).dispatcher();
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
}

function resolver(addresses: readonly string[]): LookupFunction {
  const found: LookupAddress[] = addresses.map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  return (_host, options, callback) => {
    expect(options.all).toBe(true);
    callback(null, found);
  };
}

function lookedUp(lookup: LookupFunction, options: { all?: boolean }, host = 'evil.example') {
  return new Promise((resolve, reject) => {
    lookup(host, options, (error, address, family) => {
      if (error) reject(error);
      else resolve(options.all ? address : [address, family]);
    });
  });
}

function refusalOf(action: () => void): FabricError {
  try {
    action();
  } catch (error) {
    if (FabricError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

function reasonOf(options: AddressGuardOptions, url: string | URL): unknown {
  return refusalOf(() => createAddressGuard(options).check(url)).details.reason;
}
