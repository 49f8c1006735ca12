import { basename } from 'node:path';
import { problemsOf } from '@starloom/config';
import { FabricError } from '@starloom/core';

/** Why an agent could not be written into the file at `path`; nothing was changed. */
export function notRegistered(agentId: string, path: string, cause: unknown): FabricError {
  const problems = problemsOf(cause);
  if (problems) {
    const fix = `repair ${basename(path)} first`;
    return failure(agentId, { reason: 'registry_broken', problems, fix }, cause);
  }
  const { code } = cause as NodeJS.ErrnoException;
  if (FabricError.is(cause) || code === undefined) return FabricError.from(cause);
  const fix = 'let this process write the file and its folder';
  return failure(agentId, { reason: 'registry_unwritable', cause: code, fix }, cause);
}

/** The manifest is valid, but the file could not be read any more with it. */
export function unfitForFile(agentId: string, cause: unknown): FabricError {
  const problems = problemsOf(cause)?.map(({ key, message }) => ({ key, message })) ?? [];
  const [first] = problemsOf(cause) ?? [];
  const what = first === undefined ? '' : `: ${[first.key, first.message].join(' ')}`;
  const message = `The file would not be readable with agent "${agentId}"${what}`;
  const fix = first?.fix ?? 'change it by hand';
  return new FabricError('BAD_INPUT', message, {
    details: { reason: 'unfit_for_file', problems, fix },
    cause,
  });
}

function failure(agentId: string, details: Record<string, unknown>, cause: unknown): FabricError {
  return new FabricError('INTERNAL', `Agent "${agentId}" was not registered`, { details, cause });
}
