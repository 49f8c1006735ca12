import { type ErrorCode, FabricError, TOOL_ERROR, toFields } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { toUpstreamError } from '../../upstream/reported-error.ts';
import type { JsonValue } from '../json-requests.ts';
import type { OptionsOf } from '../options.ts';
import type { ProfileCall } from '../profile.ts';
import { AskProfile } from './shared.ts';

/** What the interfaces of OpenAI have in common: how a model is named, asked and read. */
export abstract class OpenAiProfile<
  Options extends OptionsOf<'openai-chat' | 'openai-responses'>,
> extends AskProfile<Options> {
  override get healthPath(): string {
    return this.client.target.pathOf('/models');
  }

  protected ask(call: ProfileCall, path: string, asked: object): AsyncIterable<JsonValue> {
    const { model, body } = this.options;
    const { capability, envelope, requests } = call;
    const request = {
      ...body,
      model: capability.tool ?? model,
      ...asked,
      stream: envelope.response.stream,
    };
    const place = this.client.target.pathOf(path);
    return requests.stream({ method: 'POST', path: place, body: request }, { done: '[DONE]' });
  }
}

/** What an error of the interface means, by its code or type. */
const MEANINGS: readonly (readonly [RegExp, ErrorCode, string])[] = [
  [/rate_limit|insufficient_quota/, 'RATE_LIMITED', 'agent_rate_limit'],
  [/authentication|invalid_api_key|permission/, 'AUTH_DENIED', 'agent_denied'],
  [/model_not_found/, 'CAPABILITY_NOT_FOUND', 'not_found'],
  [/overloaded/, 'OVERLOADED', 'agent_overloaded'],
  [
    /invalid_request|invalid_prompt|context_length|content_(filter|policy)/,
    'UPSTREAM_ERROR',
    TOOL_ERROR,
  ],
];

/** `{message, type, code}` inside of an answer with a success status. */
export function openAiFailure(error: unknown, excerpt: Excerpt): FabricError {
  const { message, type, code } = toFields(error);
  const kinds = [code, type].filter((each) => typeof each === 'string');
  const found = MEANINGS.find(([pattern]) => kinds.some((kind) => pattern.test(kind)));
  const [, known, reason] = found ?? [undefined, 'UPSTREAM_ERROR' as const, 'server_error'];
  return new FabricError(known, 'The model server reported an error', {
    details: {
      reason,
      upstream: toUpstreamError({ code: kinds[0], message: message ?? error }, excerpt),
      fix: 'see details.upstream',
    },
  });
}
