import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  type Engine,
  type EngineName,
  engines,
  openEngine,
  openProgram,
  type Program,
} from './engine.ts';
import { type ProgramResult, requireProgram } from './program.ts';

export interface OpenedEngines {
  readonly redis: Engine;
  readonly postgres: Engine;
  readonly chromium: Program;
}

/** Left on the one test of a suite that could not run, for the reporter. */
export interface MissingEngine {
  readonly engine: string;
  readonly reason: string;
  readonly howToInstall: string;
}

declare module 'vitest' {
  interface TaskMeta {
    missingEngine?: MissingEngine;
  }
}

/**
 * A suite that needs an engine, which is opened before its first test and closed after its last:
 * ask for it inside tests and hooks. Where there is no engine the suite fails when CI=true, and
 * otherwise counts as not run.
 */
export function describeWithEngine<Name extends EngineName>(
  name: Name,
  define: (engine: () => OpenedEngines[Name]) => void,
  find: () => Promise<ProgramResult> = () => requireProgram(engines[name].program),
): void {
  describe(`with ${name}`, async () => {
    const program = await find();
    if (program.found) define(openAround(open[name]));
    else reportMissing({ engine: name, ...program });
  });
}

/**
 * A suite that needs a program of another project, prepared before its tests are defined: see
 * `preparePython` and `prepareGo`. Without it the suite fails when CI=true, and otherwise counts as
 * not run.
 */
export function describeWithPeer(
  name: string,
  prepare: () => Promise<ProgramResult>,
  define: (path: string) => void,
): void {
  describe(name, async () => {
    const program = await prepare();
    if (program.found) define(program.path);
    else reportMissing({ engine: name, ...program });
  });
}

function reportMissing({ engine, reason, howToInstall }: MissingEngine): void {
  it('could not run', ({ task, skip }) => {
    task.meta.missingEngine = { engine, reason, howToInstall };
    skip(`${engine} is missing: ${howToInstall}`);
  });
}

const open: { readonly [Name in EngineName]: () => Promise<OpenedEngines[Name]> } = {
  redis: () => openEngine('redis'),
  postgres: () => openEngine('postgres'),
  chromium: () => openProgram('chromium'),
};

function openAround<Opened extends object>(openOne: () => Promise<Opened>): () => Opened {
  let opened: Opened | undefined;
  beforeAll(async () => {
    opened = await openOne();
  }, 120_000);
  afterAll(async () => {
    if (opened !== undefined && isDisposable(opened)) await opened[Symbol.asyncDispose]();
  }, 60_000);
  return () => {
    if (opened === undefined) throw new Error('ask for the engine inside tests and hooks');
    return opened;
  };
}

function isDisposable(value: object): value is AsyncDisposable {
  return Symbol.asyncDispose in value;
}
