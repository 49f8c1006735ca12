// Routes live in the fragment: `#/calls?agent=percy`. Servers, proxies and their logs never see them,
// and the gateway has static files to serve and nothing else.

import { signal } from '@preact/signals';

export interface Route {
  /** Decoded segments: `#/calls/4bf9…` is `['calls', '4bf9…']`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function parseRoute(fragment: string): Route {
  const text = fragment.replace(/^#?\/?/, '');
  const [path = '', query = ''] = text.split('?', 2);
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: new URLSearchParams(query),
  };
}

export function toHref(
  path: readonly string[],
  query: Record<string, string | undefined> = {},
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export const route = signal<Route>(parseRoute(globalThis.location?.hash ?? ''));

export function navigate(href: string): void {
  location.hash = href.replace(/^#/, '');
}

/** Filters change the address without a step in the history for every letter. */
export function replaceQuery(changes: Record<string, string | undefined>): void {
  const { path, query } = route.value;
  const href = toHref(path, { ...Object.fromEntries(query), ...changes });
  history.replaceState(history.state, '', href);
  route.value = parseRoute(href);
}

let wantsFocus = false;

export function watchAddress(): void {
  addEventListener('hashchange', () => {
    const next = parseRoute(location.hash);
    if (next.path.join('/') !== route.value.path.join('/')) {
      wantsFocus = true;
      scrollTo(0, 0);
    }
    route.value = next;
  });
}

/** After a change of screens its heading takes the focus, so that readers hear where they are. */
export function takeFocusRequest(): boolean {
  const wanted = wantsFocus;
  wantsFocus = false;
  return wanted;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
