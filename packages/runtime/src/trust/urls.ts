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

const FILE_NAME =
  /\.(?:txt|md|csv|tsv|json|jsonl|ya?ml|toml|xml|html?|pdf|docx?|xlsx?|pptx?|od[tsp]|png|jpe?g|gif|svg|webp|mp[34]|wav|mov|zip|t?gz|tar|[jt]sx?|[cm]js|py|rb|go|rs|java|[ch]|cpp|cs|sh|bash|sql|log|ini|cfg|conf|lock|bin|exe|dll|so|db|bak|tmp|env|key|pem|css|scss|vue|php|swift|kt|ipynb|desktop|service)$/i;
const BARE_LINK =
  /(?<![\p{L}\p{N}_@./:-])(?:(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,24}|(?:\d{1,3}\.){3}\d{1,3})(?![\w@.-]*@)[/?:#\w.=&%-]*/gu;
const HOST = /^(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,24}$/u;

/** A name that is looked up in the network. The name of a file may look the same: it is none. */
export function isHostText(text: string): boolean {
  return HOST.test(text) && !FILE_NAME.test(text);
}

/** URLs, also in pieces (`hxxp`, `[.]`, ` . `, tags between), and hosts without a scheme. */
export function linksIn(text: string): string[] {
  if (!/[.:。]|dot/i.test(text)) return [];
  const joined = text
    .normalize('NFKC')
    .replaceAll(/<[^<>]*>|\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/\s*[[({]\s*(?:\.|dot)\s*[\])}]\s*|。/gi, '.')
    .replaceAll(/\bhxxp/gi, 'http')
    .replaceAll(/\b(https?)\s*:\s*\/\s*\/\s*/gi, '$1://')
    .replaceAll(/(\w)\s+\.\s*(?=\w)/g, '$1.');
  const bare = joined.match(BARE_LINK) ?? [];
  const hosts = bare.filter((one) => {
    const [host = ''] = one.split(/[/?:#]/);
    if (/^[\d.]+$/.test(host)) return host !== one;
    const [, end = ''] = /\.(\p{L}+)$/u.exec(host) ?? [];
    const isSentence = end !== end.toLowerCase() && end !== end.toUpperCase();
    return !isSentence && (host !== one || isHostText(host));
  });
  return [...new Set([...urlsIn(text), ...urlsIn(joined), ...hosts])];
}

/** Without what people leave out: scheme, `www.`, and a slash at the end. */
export function bareUrl(text: string): string {
  return isUrlText(text) ? text.trim().replace(/^(?:https?:\/\/)?(?:www\.)?|\/$/gi, '') : text;
}

/** The text holds the URL, with or without its scheme. */
export function holdsUrl(text: string, url: string): boolean {
  const bare = bareUrl(url);
  return ['', 'www.', 'http://', 'https://', 'http://www.', 'https://www.'].some((start) =>
    standsIn(text, `${start}${bare}`),
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
