// Keeps requests that others can steer (agent cards, webhooks, key sets, attachments) away from our
// own network. A name is judged by the addresses it resolves to at the moment of dialling, so a name
// that resolves to another address between check and connect gains nothing.

import { lookup as systemLookup } from 'node:dns';
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import type { FabricError } from '@starloom/core';
import type { Agent, buildConnector } from 'undici';
import {
  type Cidr,
  contains,
  isSingleAddress,
  parseAddress,
  parseCidr,
  rangeOf,
} from './address-range.ts';
import { failure } from './reasons.ts';

export interface AddressGuardOptions {
  /** Lets private networks (RFC 1918 and fc00::/7) through; loopback and the rest stay closed. */
  readonly allowPrivate?: boolean;
  /**
   * Host names, addresses and CIDR ranges that are let through. A name is trusted with whatever it
   * resolves to; metadata addresses are opened only by naming them one by one.
   */
  readonly allow?: readonly string[];
  /** In place of the system's resolver. */
  readonly resolve?: LookupFunction;
}

/** Options of the socket, `autoSelectFamily` for one, go under `connect`. */
export type GuardedAgentOptions = Omit<Agent.Options, UnguardedOption> & {
  readonly connect?: buildConnector.BuildOptions;
};

type UnguardedOption =
  | 'autoSelectFamily'
  | 'autoSelectFamilyAttemptTimeout'
  | 'connect'
  | 'factory'
  | 'maxCachedSessions'
  | 'socketPath'
  | 'tls';

export function createAddressGuard(options: AddressGuardOptions = {}): AddressGuard {
  return new AddressGuard(options);
}

export class AddressGuard {
  readonly #allowPrivate: boolean;
  readonly #allowed: AllowList;
  readonly #resolve: LookupFunction;

  constructor(options: AddressGuardOptions) {
    this.#allowPrivate = options.allowPrivate ?? false;
    this.#allowed = parseAllowList(options.allow ?? []);
    this.#resolve = options.resolve ?? systemLookup;
  }

  /** Throws POLICY_DENIED unless `url` may be dialled, judged by its text alone. */
  check(url: string | URL): void {
    const parsed = URL.parse(String(url));
    if (parsed === null) throw denied('bad_url', null);
    const { protocol, hostname: host } = parsed;
    if (!/^https?:$/.test(protocol)) throw denied('scheme', host);
    if (parsed.username !== '' || parsed.password !== '') throw denied('user_info', host);
    if (host.endsWith('.') || (typeof url === 'string' && isOddlySpelled(url, parsed))) {
      throw denied('odd_spelling', host);
    }
    this.#checkHost(host);
  }

  /**
   * For the `lookup` option of `net.connect`: hands out only addresses that may be dialled. Node
   * does not look up addresses, so a URL that holds one is for `check`, or for `dispatcher`.
   */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.#resolve(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(error, []);
      const all = Array.isArray(found) ? found : [{ address: found, family: family ?? 4 }];
      const permitted = all.filter(({ address }) => this.#mayReach(hostname, address));
      const [first] = permitted;
      if (first === undefined) return callback(refusal(hostname, all[0]?.address), []);
      if (options.all) return callback(null, permitted);
      return callback(null, first.address, first.family);
    });
  };

  /** An agent that checks every connection it opens, and follows no redirect. The caller closes it. */
  dispatcher(options: GuardedAgentOptions = {}): Agent {
    const { connect, ...rest } = options;
    const { allowH2 = true, connectTimeout: timeout = 10_000 } = rest;
    const { Agent, buildConnector } = loadUndici();
    const dial = buildConnector({ allowH2, timeout, ...connect, lookup: this.lookup });
    return new Agent({
      ...rest,
      connect: (target, callback) => {
        this.#checkHost(target.hostname);
        dial(target, callback);
      },
    });
  }

  /** Judges what needs no resolver; other names must wait for `lookup`. */
  #checkHost(host: string): void {
    const addresses = addressesIn(host);
    if (addresses.length === 0) return;
    if (addresses.some((address) => this.#mayReach(host, address))) return;
    throw refusal(host, addresses[0]);
  }

  #mayReach(host: string, text: string): boolean {
    if (this.#allowed.hosts.has(withoutFinalDot(host.toLowerCase()))) return true;
    const address = parseAddress(text);
    if (address === undefined) return false;
    const range = rangeOf(address);
    if (range === 'public') return true;
    if (this.#allowPrivate && (range === 'private' || range === 'uniqueLocal')) return true;
    return this.#allowed.ranges.some(
      (cidr) => contains(cidr, address) && (range !== 'metadata' || isSingleAddress(cidr)),
    );
  }
}

interface AllowList {
  readonly hosts: ReadonlySet<string>;
  readonly ranges: readonly Cidr[];
}

function parseAllowList(entries: readonly string[]): AllowList {
  const hosts = new Set<string>();
  const ranges: Cidr[] = [];
  for (const entry of entries) {
    const range = parseCidr(withoutBrackets(entry));
    if (range === undefined) hosts.add(parseHost(entry));
    else ranges.push(range);
  }
  return { hosts, ranges };
}

function parseHost(entry: string): string {
  const host = /[\s:/?#@%\\]/.test(entry) ? '' : (URL.parse(`http://${entry}`)?.hostname ?? '');
  if (host !== '' && isIP(host) === 0) return withoutFinalDot(host);
  throw failure('bad_allow_entry', { entry });
}

/** The addresses that a host means by itself; none for a name that has to be resolved. */
function addressesIn(host: string): readonly string[] {
  if (/(^|\.)localhost\.?$/i.test(host)) return ['127.0.0.1', '::1'];
  const address = withoutBrackets(host);
  return isIP(address) === 0 ? [] : [address];
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function withoutFinalDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

/** Whether an IPv4 address was written as `2130706433`, `0x7f.1`, `127.0.0.1.` or the like. */
function isOddlySpelled(text: string, { protocol, hostname }: URL): boolean {
  if (isIP(hostname) !== 4) return false;
  const usual = `${protocol}//${hostname}`;
  const written = text.trim().toLowerCase();
  return !written.startsWith(usual) || !/^([:/?#]|$)/.test(written.slice(usual.length));
}

/** The reason is what the address is instead of public: `loopback`, `private`, `metadata` … */
function refusal(host: string, text: string | undefined): FabricError {
  const address = text === undefined ? undefined : parseAddress(text);
  const reason = address && rangeOf(address);
  return failure('no_address', { host, address: text ?? null, reason });
}

function denied(
  reason: 'bad_url' | 'scheme' | 'user_info' | 'odd_spelling',
  host: string | null,
): FabricError {
  return failure(reason, { host, address: null });
}

/** Over a hundred modules: they are loaded with the first guarded connection. */
function loadUndici(): typeof import('undici') {
  return createRequire(import.meta.url)('undici');
}
