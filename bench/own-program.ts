import { fileURLToPath } from 'node:url';

/** A program of this folder, run from source by the Node that runs us. */
export function ownProgram(file: string, ...args: string[]): Program {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return {
    command: process.execPath,
    args: ['--conditions=@starloom/source', path, ...args],
  };
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of a program that does not announce where it serves. */
  readonly url?: string;
}
