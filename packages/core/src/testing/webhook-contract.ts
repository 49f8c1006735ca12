// What an adapter must do with webhooks: one belongs to its call, and ends with it.

import { expect, it } from 'vitest';
import { FabricError } from '../errors.ts';
import type { CallContext } from '../ports/adapter.ts';
import type { AskingSubject } from './asking-contract.ts';

export interface WebhookSubject extends Pick<AskingSubject, 'run' | 'failure'> {
  /** Resolves when the agent works on the call that hangs. */
  readonly hanging: () => Promise<unknown>;
  /** Whether a call that lasts opens one. */
  readonly opens: boolean;
}

export function webhookContract({ run, failure, hanging, opens }: WebhookSubject): void {
  it('leaves no webhook open when a call is over or left', async () => {
    let opened = 0;
    let open = 0;
    const openWebhook: CallContext['openWebhook'] = () => {
      opened += 1;
      open += 1;
      const close = () => {
        open -= 1;
      };
      return { url: 'http://127.0.0.1:1/notices', token: 'token', [Symbol.dispose]: close };
    };
    await run('echo hello', undefined, { openWebhook });
    expect(open).toBe(0);
    const control = new AbortController();
    const left = failure('hang', control.signal, { openWebhook });
    if (opens) {
      await hanging();
      await expect.poll(() => opened).toBe(1);
    }
    control.abort(new FabricError('TIMEOUT', 'Too slow'));
    await left;
    await expect.poll(() => open).toBe(0);
  });
}
