// What models of the AI SDK throw, recognised by structure: their classes come in as many copies as
// there are vendor packages.

import { FabricError, type Fields, isObject } from '@starloom/core';
import { numberOf, textOf } from '../../json.ts';
import type { ModelErrors } from '../model-error.ts';

const UNREADABLE = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
  'AI_NoContentGeneratedError',
]);
const UNSUPPORTED = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError']);

export function toFailure(error: unknown, errors: ModelErrors): FabricError {
  if (FabricError.is(error)) return error;
  const inner = findFabricError(error);
  if (inner !== undefined) return inner;
  if (!(error instanceof Error)) return toReportedFailure(error, errors);
  if (error.name === 'AI_APICallError') return ofApiCall(error, errors);
  if (error.name === 'AI_LoadAPIKeyError') return errors.ofStatus({ status: 401 });
  if (UNREADABLE.has(error.name)) return errors.unreadable(textIn(error), error);
  if (UNSUPPORTED.has(error.name)) return errors.ofThrown('unsupported', error);
  if (error instanceof TypeError && error.cause !== undefined)
    return errors.ofConnection(error, true);
  return errors.ofThrown('threw', error);
}

function ofApiCall(error: Error, errors: ModelErrors): FabricError {
  const { statusCode, responseHeaders, responseBody } = error as Error & Readonly<Fields>;
  const status = numberOf(statusCode);
  if (status === undefined) return errors.ofConnection(error, false);
  const body = textOf(responseBody);
  if (status < 300) {
    const cause = error.cause instanceof Error ? error.cause : error;
    const isLost = cause !== error && !UNREADABLE.has(cause.name);
    return isLost
      ? errors.ofConnection(cause, true)
      : errors.unreadable(body ?? textIn(cause), error);
  }
  const headers = isObject(responseHeaders) ? responseHeaders : {};
  return errors.ofStatus({
    status,
    retryAfter: textOf(headers['retry-after']),
    retryAfterMs: textOf(headers['retry-after-ms']),
    body,
  });
}

function toReportedFailure(error: unknown, errors: ModelErrors): FabricError {
  const reason = isObject(error) && isObject(error.error) ? error.error : error;
  const fields = isObject(reason) ? [reason.code, reason.type, reason.status] : [];
  const number = fields.map(numberOf).find((code) => code !== undefined && code >= 400);
  const name = fields
    .map(textOf)
    .find((word) => word !== undefined && Object.hasOwn(STATUSES, word));
  const status = number ?? (name === undefined ? 500 : STATUSES[name]) ?? 500;
  return errors.ofStatus({
    status,
    body: typeof reason === 'string' ? reason : JSON.stringify(reason),
  });
}

const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  INVALID_ARGUMENT: 400,
  authentication_error: 401,
  permission_error: 403,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  RESOURCE_EXHAUSTED: 429,
  overloaded_error: 529,
};

/** Ours may come back wrapped: from the fetch that we gave the package. */
function findFabricError(error: unknown): FabricError | undefined {
  if (!(error instanceof Error)) return undefined;
  return FabricError.is(error.cause) ? error.cause : findFabricError(error.cause);
}

function textIn(error: Error & { readonly text?: unknown }): string {
  return textOf(error.text) ?? '';
}
