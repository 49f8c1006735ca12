// Whether a URL that is added is the card of an A2A agent. Asked only of URLs that may be one; an
// agent that is away, or wants to know who asks, is recognised by the place of its card.

import { isAgentCard } from '@starloom/adapters';
import { isReference } from '../import-servers/secret-names.ts';

export interface FoundCard {
  /** As the card says; absent when it could not be read. */
  readonly name?: string;
}

const MAX_BYTES = 1_048_576;
const TIMEOUT_MS = 5_000;

export async function findAgentCard(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FoundCard | undefined> {
  if (!URL.canParse(url)) return undefined;
  const { pathname } = new URL(url);
  if (!pathname.endsWith('.json')) return undefined;
  const card = await readJson(url, headers);
  if (isAgentCard(card)) return { name: String(Reflect.get(card as object, 'name')) };
  const isItsPlace = pathname.endsWith('/.well-known/agent-card.json');
  return isItsPlace && card === undefined ? {} : undefined;
}

/** `undefined` when there is no JSON to be had. */
async function readJson(url: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const known = Object.entries(headers).filter(([, value]) => !isReference(value));
  try {
    const response = await fetch(url, {
      headers: { 'A2A-Version': '1.0', ...Object.fromEntries(known) },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok || !response.body) return undefined;
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) return undefined;
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
