import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';

/** What `fabric.call` answers, as far as these tests look at it. */
export interface CallPayload {
  readonly ok: boolean;
  readonly conversation_id?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

/** The call that answers the question which an earlier call ended with. */
export function answerTo({ error }: CallPayload, text: string): Record<string, unknown> {
  expect(error).toMatchObject({ code: 'INPUT_REQUIRED' });
  const { inputs, conversation_id } = error?.details ?? {};
  expect(inputs).toMatchObject([{ kind: 'text', message: 'What is your name?' }]);
  const [{ id } = { id: '' }] = inputs as { id: string }[];
  const response = { action: 'accept', content: { text } };
  return { conversation_id, inputs: [{ id, response }] };
}

/** How often work that ticks ten times a second ticked in half a second. */
export async function ticksNow(ticks: () => Promise<number>): Promise<number> {
  const before = await ticks();
  await delay(500);
  return (await ticks()) - before;
}
