import type { Commit, Write } from '../coordination-store.ts';

/** As lua/commit.ts reads them; '' stands for what is absent. */
export function commitArguments({ writes, event, ifVersion, ifKeys }: Omit<Commit, 'fence'>) {
  const expected = [...(ifKeys ?? [])].flatMap(([key, version]) => [key, String(version)]);
  return [
    optional(ifVersion),
    event === undefined ? '' : JSON.stringify(event),
    String(ifKeys?.size ?? 0),
    ...expected,
    ...writes.flatMap(writeArguments),
  ];
}

function writeArguments(write: Write): string[] {
  switch (write.kind) {
    case 'put': {
      const { key, value, ttlMs, onExpire } = write;
      const event = onExpire === undefined ? '' : JSON.stringify(onExpire);
      return ['put', key, JSON.stringify(value), optional(ttlMs), event];
    }
    case 'increment':
      return ['increment', write.key, String(write.by), '', ''];
    case 'delete':
      return ['delete', write.key, '', '', ''];
  }
}

export function optional(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}
