// What the arguments of a call say, wherever in them it stands, and whom they would reach. What is more
// than can be read at once is left unread, and `cut` says so.

import { encodedRuns } from './encoded-runs.ts';

export interface Destination {
  /** A host, or a whole e-mail address. */
  readonly name: string;
  readonly kind: 'host' | 'address';
}

const MOST_STRINGS = 5000;
const MOST_CHARACTERS = 131_072;
const MOST_DESTINATIONS = 64;
const URL_LIKE = /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'`<>()[\]{}|\\^]+/gi;
const ADDRESS = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/;
const BARE_HOST =
  /^(?:\/\/)?(?:[a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}(?::\d{1,5})?(?:[/?#]|$)/i;
const HOST_KEY =
  /^(?:url|uri|href|link|host|hostname|endpoint|server|domain|webhook|callback|address|origin)s?$/i;

export class ArgumentText {
  /** Every string and every key of an object. */
  readonly strings: readonly string[];
  /** There was more than could be read. */
  readonly cut: boolean;
  readonly #keys: readonly string[];
  #readings: readonly string[] | undefined;
  #destinations: readonly Destination[] | undefined;

  constructor(args: unknown) {
    const strings: string[] = [];
    const keys: string[] = [];
    let room = MOST_CHARACTERS;
    for (const { key, text } of walk(args)) {
      if (room <= 0 || strings.length === MOST_STRINGS) break;
      strings.push(text.slice(0, room));
      keys.push(key);
      room -= text.length;
    }
    this.strings = strings;
    this.#keys = keys;
    this.cut = room < 0 || strings.length === MOST_STRINGS;
  }

  /** All strings, and what they say once percent escapes, base64 and hex are decoded. */
  get readings(): readonly string[] {
    this.#readings ??= this.strings.flatMap((text) => [text, ...decodings(text)]);
    return this.#readings;
  }

  get destinations(): readonly Destination[] {
    this.#destinations ??= this.#findDestinations();
    return this.#destinations;
  }

  #findDestinations(): Destination[] {
    const found = new Map<string, Destination>();
    for (const [index, text] of this.strings.entries()) {
      const isHost = HOST_KEY.test(this.#keys[index] ?? '') || text.startsWith('//');
      for (const destination of destinationsIn(text, isHost)) {
        found.set(destination.name, destination);
      }
      if (found.size >= MOST_DESTINATIONS) break;
    }
    return [...found.values()];
  }
}

function* walk(args: unknown): Generator<{ key: string; text: string }> {
  const open: { key: string; value: unknown }[] = [{ key: '', value: args }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { key, value } = next;
    if (typeof value === 'string') yield { key, text: value };
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) yield { key: '', text: name };
      open.push({ key: Array.isArray(value) ? key : name, value: member });
    }
  }
}

function destinationsIn(text: string, isHost: boolean): Destination[] {
  const hosts = text.includes('://')
    ? [...text.matchAll(URL_LIKE)].flatMap(([url]) => hostOf(url) ?? [])
    : [];
  if (hosts.length > 0) return hosts.map((name) => ({ name, kind: 'host' }));
  const addresses = addressesIn(text);
  if (addresses.length > 0) return addresses.map((name) => ({ name, kind: 'address' }));
  const host =
    isHost && BARE_HOST.test(text) ? hostOf(`http://${text.replace(/^\/\//, '')}`) : undefined;
  return host ? [{ name: host, kind: 'host' }] : [];
}

/** Looks around each `@`, so that a long text without any costs nothing. */
function addressesIn(text: string): string[] {
  const found: string[] = [];
  let looks = 0;
  for (let at = text.indexOf('@'); at !== -1 && looks < 1000; at = text.indexOf('@', at + 1)) {
    looks += 1;
    const address = ADDRESS.exec(text.slice(Math.max(0, at - 64), at + 256))?.[0];
    if (address) found.push(address.toLowerCase());
  }
  return found;
}

function hostOf(url: string): string | undefined {
  const special = url.replace(/^[^:]+:/, 'http:');
  return URL.parse(special)?.hostname.replace(/^www\./, '') || undefined;
}

function decodings(text: string): string[] {
  const found = encodedRuns(text).flatMap((run) => run.decoded ?? []);
  const unescaped = text.includes('%') ? unescapePercent(text) : text;
  return unescaped === text ? found : [unescaped, ...found];
}

function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
