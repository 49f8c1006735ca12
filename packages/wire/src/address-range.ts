// Which part of the address space an address lies in. Only `public` may be dialled without permission: on
// top of ipaddr.js' table, IPv6 outside 2000::/3 is never public, and neither are the addresses at
// which clouds hand out credentials, some of which look private or even public.

import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface Cidr {
  readonly base: Address;
  readonly prefix: number;
}

/** `public`, or what the address is instead: `loopback`, `private`, `linkLocal`, `metadata` … */
export function rangeOf(address: Address): string {
  if (METADATA.has(address.toString())) return 'metadata';
  const range = address.range();
  if (range !== 'unicast') return range;
  if (address.kind() === 'ipv6' && !contains(GLOBAL_UNICAST, address)) return 'reserved';
  return 'public';
}

/** `undefined` for what is not an address in its usual form: `127.1` and `0x7f000001` are not. */
export function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  const withoutZone = text.replace(/%.*$/, '');
  return ipaddr.IPv6.isValid(withoutZone) ? ipaddr.IPv6.parse(withoutZone) : undefined;
}

/** An address alone counts as the range of just that address. */
export function parseCidr(text: string): Cidr | undefined {
  const address = parseAddress(text);
  if (address !== undefined) return { base: address, prefix: bitsOf(address) };
  if (!ipaddr.IPv4.isValidCIDRFourPartDecimal(text) && !ipaddr.IPv6.isValidCIDR(text)) {
    return undefined;
  }
  const [base, prefix] = ipaddr.parseCIDR(text);
  return { base, prefix };
}

export function contains(cidr: Cidr, address: Address): boolean {
  return cidr.base.kind() === address.kind() && address.match(cidr.base, cidr.prefix);
}

export function isSingleAddress(cidr: Cidr): boolean {
  return cidr.prefix === bitsOf(cidr.base);
}

const GLOBAL_UNICAST: Cidr = { base: ipaddr.IPv6.parse('2000::'), prefix: 3 };

/** AWS (and most others), its containers and pods, Google on IPv6, Alibaba, Azure, Oracle. */
const METADATA = new Set([
  '169.254.169.254',
  'fd00:ec2::254',
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::23',
  'fd20:ce::254',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
]);

function bitsOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}
