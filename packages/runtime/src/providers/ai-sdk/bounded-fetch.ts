import type { ModelErrors } from '../model-error.ts';

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** `fetch` whose answers fail when they are larger than any answer of a model. */
export function createBoundedFetch(
  errors: ModelErrors,
  limit = MAX_ANSWER_BYTES,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let length = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        length += chunk.length;
        if (length > limit) controller.error(errors.tooLarge(limit));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}
