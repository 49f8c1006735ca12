import { normalise, standsIn } from './words.ts';

/** A URL parser would take the text for one: it leaves out tabs and line breaks, and needs no slashes. */
export function isUrlText(text: string): boolean {
  const plain = text.replaceAll(/[\t\n\r]/g, '').trim();
  return /^(?:[a-z][a-z0-9+.-]{1,15}:\/\/|(?:https?|wss?|ftp):|[\\/]{2}|www\.)\S+$/i.test(plain);
}

/** URLs in a text, each without the punctuation of the sentence around it. */
export function urlsIn(text: string): string[] {
  if (!text.includes('://') && !text.includes('www.')) return [];
  const apart = text.replaceAll(/(\p{Ll}[.!?])(?=\p{Lu}\p{Ll})/gu, '$1 ');
  return Array.from(apart.matchAll(/(?:\bhttps?:\/\/|\bwww\.)[^\s"'`<>()[\]{}|\\^]+/gi), ([url]) =>
    url.replace(/[.,;:!?*_]+$/, ''),
  );
}

export function hostOf(url: string): string | undefined {
  const parsed = toUrl(url);
  return parsed && (plainHost(parsed) || undefined);
}

/** `text` holds the URL or one above it, or its host alone. */
export function namesUrl(text: string, url: string): boolean {
  const wanted = toUrl(url);
  if (!wanted?.hostname) return standsIn(text, url);
  const written = urlsIn(text);
  const isBelow = written.flatMap((one) => toUrl(one) ?? []).some((one) => leadsTo(one, wanted));
  return isBelow || namesHost(text, written, plainHost(wanted));
}

function leadsTo(above: URL, wanted: URL): boolean {
  const isSameHost = plainHost(above) === plainHost(wanted) && above.port === wanted.port;
  if (!isSameHost) return false;
  const path = above.pathname.replace(/\/$/, '');
  return wanted.pathname === path || wanted.pathname.startsWith(`${path}/`);
}

/** Outside of any URL: `post it to example.com`. */
function namesHost(text: string, written: readonly string[], host: string): boolean {
  const rest = written.reduce((left, url) => left.replaceAll(url, ' '), text);
  return standsIn(normalise(rest), host);
}

function plainHost({ hostname }: URL): string {
  return hostname.replace(/^www\./, '');
}

/** As the parser reads it that will be used: `http:/a`, `http:\\a` and a line break inside are URLs. */
function toUrl(given: string): URL | undefined {
  const text = given.trim();
  const url = URL.parse(text);
  return url?.hostname ? url : (URL.parse(`https://${text.replace(/^[\\/]+/, '')}`) ?? undefined);
}
