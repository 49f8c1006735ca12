import { type JsonValue, streamJson } from '../json-values.ts';
import type { ProfileCall } from '../profile.ts';
import { AskProfile } from './ask-profile.ts';
import type { ModelOptions } from './model-options.ts';
import { headersOf, requestsOf } from './shared.ts';

/** What the interfaces of OpenAI have in common: how a model is named, asked and read. */
export abstract class OpenAiProfile<Options extends ModelOptions> extends AskProfile<Options> {
  readonly healthPath = this.client.target.pathOf('/models');

  protected ask(call: ProfileCall, path: string, asked: object): AsyncIterable<JsonValue> {
    const { model, body } = this.options;
    const request = {
      ...body,
      model: call.capability.tool ?? model,
      ...asked,
      stream: call.envelope.response.stream,
    };
    const place = this.client.target.pathOf(path);
    return streamJson(
      this.client,
      { method: 'POST', path: place, headers: headersOf(call), body: request },
      requestsOf(call),
      { done: '[DONE]' },
    );
  }
}
