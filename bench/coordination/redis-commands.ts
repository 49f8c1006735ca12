import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';

export type RedisCommand = readonly string[];

/** The commands of a name that clients of a Redis send while the work is done, in their order. */
export async function seenCommands(
  url: string,
  name: string,
  work: () => Promise<void>,
): Promise<readonly RedisCommand[]> {
  const watcher = await createClient({ url, RESP: 2 }).connect();
  const client = await createClient({ url, RESP: 2 }).connect();
  try {
    const last = randomUUID();
    const isOver = Promise.withResolvers<void>();
    const seen: RedisCommand[] = [];
    await watcher.monitor((line) => {
      const command = parseMonitorLine(String(line));
      if (command?.[0] === name) seen.push(command);
      if (command?.[1] === last) isOver.resolve();
    });
    await work();
    await client.sendCommand(['ECHO', last]);
    await isOver.promise;
    return seen;
  } finally {
    watcher.destroy();
    client.destroy();
  }
}

/** `1700000000.123456 [0 127.0.0.1:50000] "GET" "key"`; nothing of what a script called. */
export function parseMonitorLine(line: string): RedisCommand | undefined {
  const [, client = 'lua', words = ''] = /^[\d.]+ \[\d+ ([^\]]+)\] (.*)$/.exec(line) ?? [];
  if (client === 'lua') return undefined;
  return Array.from(words.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, word = '']) => unescaped(word));
}

/** Bytes beyond ASCII are written as `\xNN` each. */
function unescaped(word: string): string {
  const bytes = word.replaceAll(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex?: string, letter = '') =>
    hex === undefined ? (CONTROL[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

const CONTROL: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };
