import type { Environment } from '@starloom/wire';
import type { ProgramDefinition } from '../program.ts';

/** What a server of the test kit must say about itself. */
export interface ServerDefinition {
  readonly program: ProgramDefinition;
  /** Whom it runs as when we are root, for servers that refuse to be root. */
  readonly user?: string;
  readonly env?: Environment;
  /** Sent before SIGTERM, where that would wait for clients to leave. */
  readonly stopSignal?: NodeJS.Signals;
  /** Makes an empty folder ready for the first start. */
  prepare?(setup: ServerSetup): Promise<void>;
  args(setup: ServerSetup): readonly string[];
  url(port: number): string;
  /** Whether it answers; a rejection counts as not yet. */
  isReady(port: number): Promise<boolean>;
}

export interface ServerSetup {
  readonly path: string;
  readonly folder: string;
  readonly port: number;
  /** Empty when it runs as we do. */
  readonly owner: { readonly uid?: number; readonly gid?: number };
}
