import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface ServeOptions {
  /** Loopback port of an HTTP agent; 0 takes a free one. */
  readonly port: number;
  /** What the agent may read. */
  readonly folder: string;
  readonly pauseMs: number;
}

const SLOW_MS = 30;

/** `--port N`, `--folder PATH` and `--slow`, which makes a stream pleasant to watch. */
export function readOptions(args: string[] = process.argv.slice(2)): ServeOptions {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string', default: '0' },
      folder: { type: 'string', default: '.' },
      slow: { type: 'boolean', default: false },
    },
  });
  return {
    port: Number(values.port),
    folder: resolve(values.folder),
    pauseMs: values.slow ? SLOW_MS : 0,
  };
}
