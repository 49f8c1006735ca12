// Changes `agents.yaml`: all entries of a change are written at once, or none, and a gateway that
// watches the file sees one change. Processes that change it at the same time take turns.

import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { configError, loadConfig, problemsOf } from '@starloom/config';
import { agentsFileSchema, FabricError, type Manifest } from '@starloom/core';
import { fingerprintOf, withFileLock } from '@starloom/wire';
import { putManifest, removeManifest } from './agents-text.ts';
import { endpointOptions, type OptionSchemas } from './endpoint-options.ts';
import { failure } from './reasons.ts';
import { replaceFile } from './replace-file.ts';

export interface AgentsFileChange {
  /** Added, or put in the place of the entry with the same id and node. */
  readonly put?: readonly Manifest[];
  readonly remove?: readonly RemovedEntry[];
}

/** One entry, or without a node all those of the agent. */
export interface RemovedEntry {
  readonly agentId: string;
  readonly nodeId?: string | undefined;
}

interface ReadOptions {
  /** Of `endpoint.options` by protocol; without it they are not checked. */
  readonly optionSchemas?: OptionSchemas | undefined;
}

interface ChangeOptions extends ReadOptions {
  /** Whether a file that does not exist is created; by default it is an error. */
  readonly create?: boolean;
  readonly backup?: string;
}

/** BAD_INPUT with every problem and its line when the file cannot be used. */
export async function readAgentsFile(
  path: string,
  { optionSchemas = {} }: ReadOptions = {},
): Promise<readonly Manifest[]> {
  const [file, cwd] = [basename(path), dirname(path)];
  if ((await fingerprintOf(path)) === 'ENOENT') {
    const fix = `create it in ${cwd} ("[]" is a list of no agents), or set registry.path`;
    throw configError([{ file, key: '', message: 'no such file', fix }]);
  }
  const parts = endpointOptions(optionSchemas);
  const schema = agentsFileSchema;
  const loaded = await loadConfig({ path: file, cwd, schema, format: 'yaml', parts });
  return loaded.value;
}

/** The agents as they are in the file now. */
export async function changeAgentsFile(
  path: string,
  change: AgentsFileChange,
  options: ChangeOptions = {},
): Promise<readonly Manifest[]> {
  const first = change.put?.[0]?.agent_id ?? '';
  const isNew = options.create === true && (await createIfMissing(path));
  try {
    return await withFileLock(path, async () => {
      await readAgentsFile(path, options);
      const before = await readFile(path, 'utf8');
      if (options.backup !== undefined && !isNew) await copyFile(path, options.backup);
      const readBack = (file: string) =>
        readAgentsFile(file, options).catch((cause: unknown) => {
          throw unfitForFile(first, cause);
        });
      return await replaceFile(path, toText(before, change), readBack);
    });
  } catch (error) {
    if (isNew) await removeIfEmpty(path);
    throw notRegistered(first, path, error);
  }
}

function toText(before: string, { put = [], remove = [] }: AgentsFileChange): string {
  const removed = remove.reduce(removeManifest, before);
  return put.reduce(putManifest, removed);
}

const EMPTY = '[]\n';

/** Another process may have written to it meanwhile. */
async function removeIfEmpty(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text === EMPTY) await rm(path, { force: true });
}

async function createIfMissing(path: string): Promise<boolean> {
  try {
    await writeFile(path, EMPTY, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw failure('not_writable', { file: path, cause: code }, { cause });
  }
}

/** Why an agent could not be written into the file at `path`; nothing was changed. */
function notRegistered(agent_id: string, path: string, cause: unknown): FabricError {
  const problems = problemsOf(cause);
  const file = basename(path);
  if (problems) return failure('registry_broken', { agent_id, file, problems }, { cause });
  const { code } = cause as NodeJS.ErrnoException;
  if (FabricError.is(cause) || code === undefined) return FabricError.from(cause);
  return failure('registry_unwritable', { agent_id, cause: code }, { cause });
}

/** The manifest is valid, but the file could not be read any more with it. */
function unfitForFile(agent_id: string, cause: unknown): FabricError {
  const found = problemsOf(cause) ?? [];
  const problems = found.map(({ key, message }) => ({ key, message }));
  const [first] = found;
  const what = first === undefined ? '' : `: ${first.key} ${first.message}`;
  return failure('unfit_for_file', { agent_id, what, problems, fix: first?.fix }, { cause });
}
