import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { contains, parseAddress, parseCidr, rangeOf } from '../src/address-range.ts';

/** IANA's special-purpose registries, both, with multicast and what is deprecated added. */
const SPECIAL: readonly [block: string, range: string][] = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrierGradeNat'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'linkLocal'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'reserved'],
  ['192.31.196.0/24', 'as112'],
  ['192.52.193.0/24', 'amt'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'as112'],
  ['198.18.0.0/15', 'reserved'],
  ['198.51.100.0/24', 'reserved'],
  ['203.0.113.0/24', 'reserved'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
  ['255.255.255.255/32', 'broadcast'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'reserved'],
  ['::ffff:0:0/96', 'ipv4Mapped'],
  ['::ffff:0:0:0/96', 'rfc6145'],
  ['64:ff9b::/96', 'rfc6052'],
  ['64:ff9b:1::/48', 'rfc6052'],
  ['100::/64', 'discard'],
  ['100:0:0:1::/64', 'reserved'],
  ['200::/7', 'reserved'],
  ['2001::/32', 'teredo'],
  ['2001:1::/32', 'reserved'],
  ['2001:2::/48', 'benchmarking'],
  ['2001:3::/32', 'amt'],
  ['2001:4:112::/48', 'as112v6'],
  ['2001:10::/28', 'deprecatedOrchid'],
  ['2001:20::/28', 'orchid2'],
  ['2001:30::/28', 'droneRemoteIdProtocolEntityTags'],
  ['2001:100::/24', 'reserved'],
  ['2001:db8::/32', 'reserved'],
  ['2002::/16', '6to4'],
  ['2620:4f:8000::/48', 'as112v6'],
  ['3fff::/20', 'reserved'],
  ['4000::/3', 'reserved'],
  ['5f00::/16', 'segmentRouting'],
  ['fc00::/7', 'uniqueLocal'],
  ['fe80::/10', 'linkLocal'],
  ['fec0::/10', 'deprecatedSiteLocal'],
  ['ff00::/8', 'multicast'],
];

const METADATA = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::254',
  'FD00:EC2:0::23',
  'fd20:ce::254%eth0',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
];

describe('rangeOf', () => {
  it.each(SPECIAL)('knows %s as %s, from its first address to its last', (block, range) => {
    const { base, prefix } = cidr(block);
    for (const address of [firstOf(base, prefix), lastOf(base, prefix)]) {
      expect(rangeOf(address)).not.toBe('public');
    }
    expect([rangeOf(lastOf(base, prefix)), rangeOf(firstOf(base, prefix))]).toContain(range);
  });

  it('takes no address inside a special block for public', () => {
    const block = fc.constantFrom(...SPECIAL.map(([block]) => cidr(block)));
    const filling = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(block, filling, ({ base, prefix }, filling) => {
        const bytes = base
          .toByteArray()
          .map((byte, index) => mix(byte, filling[index], prefix - 8 * index));
        expect(rangeOf(ipaddr.fromByteArray(bytes))).not.toBe('public');
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ])('knows %s, beside a special block or far from any, as public', (text) => {
    expect(rangeOf(address(text))).toBe('public');
  });

  it.each(METADATA)('knows %s as an address that hands out credentials', (text) => {
    expect(rangeOf(address(text))).toBe('metadata');
  });
});

describe('parseAddress', () => {
  it.each([
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '127.0.0.1.',
    '1.2.3.256',
    '',
    'a.b',
    '[::1]',
  ])('does not take %j for an address', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe('parseCidr', () => {
  it.each([
    '10.0.0.0/33',
    '10.0/8',
    '0x0a.0.0.0/8',
    '::/129',
    '10.0.0.0/',
    'example.com',
    '10.0.0.0/-1',
  ])('refuses %j', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });

  it('keeps the two families apart', () => {
    expect(contains(cidr('0.0.0.0/0'), address('::1'))).toBe(false);
    expect(contains(cidr('::/0'), address('127.0.0.1'))).toBe(false);
    expect(contains(cidr('127.0.0.1'), address('127.0.0.2'))).toBe(false);
    expect(contains(cidr('127.0.0.1/8'), address('127.9.9.9'))).toBe(true);
  });
});

function address(text: string) {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return parsed;
}

function cidr(text: string) {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`${text} is no range`);
  return parsed;
}

function firstOf(base: ipaddr.IPv4 | ipaddr.IPv6, prefix: number) {
  return ipaddr.fromByteArray(
    base.toByteArray().map((byte, index) => mix(byte, 0, prefix - 8 * index)),
  );
}

function lastOf(base: ipaddr.IPv4 | ipaddr.IPv6, prefix: number) {
  return ipaddr.fromByteArray(
    base.toByteArray().map((byte, index) => mix(byte, 255, prefix - 8 * index)),
  );
}

/** The first `bits` bits of `byte`, the rest from `filling`. */
function mix(byte: number, filling: number | undefined, bits: number): number {
  const mask = 0xff >> Math.min(8, Math.max(0, bits));
  return (byte & ~mask & 0xff) | ((filling ?? 0) & mask);
}
