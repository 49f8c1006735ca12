import type { Roots } from '@starloom/wire/files';
import type { TurnsByKey } from '../turns.ts';

/** What the tools of the plugin share. */
export interface FsTools {
  readonly roots: Roots;
  /** Of a file that is read or written. */
  readonly maxBytes: number;
  /** Changes to one file wait for each other. */
  readonly turns: TurnsByKey;
}
