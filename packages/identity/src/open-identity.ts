// Who may call a gateway, and what it hands on to agents: everything that lives in the folder
// `identity` of the state, opened once and followed while it changes.

import { type Clock, type Log, systemClock } from '@starloom/core';
import { type Authenticator, createAuthenticator } from './authenticator.ts';
import { KeyRing } from './keys/key-ring.ts';
import type { Principal } from './principal.ts';
import type { PskKey } from './psk.ts';

export interface IdentityOptions {
  /** Of the state; gateways that share it share keys and revocations. */
  readonly folder: string;
  /** Keys of the configuration, beside those of the folder. */
  readonly configured: readonly PskKey[];
  readonly anonymous: boolean;
  readonly clock?: Clock;
  readonly log: Log;
}

export interface Identity {
  readonly authenticator: Authenticator;
  close(): Promise<void>;
}

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { folder, configured, anonymous, clock = systemClock, log } = options;
  const listeners = new Set<() => void>();
  const onChange = () => {
    for (const listener of [...listeners]) listener();
  };
  const keys = await KeyRing.open({ folder, configured, clock, log, onChange });
  const isCurrent = (principal: Principal) => {
    const { expiresAt, mode } = principal;
    if (expiresAt !== undefined && expiresAt <= clock.now()) return false;
    return mode !== 'psk' || keys.isValid(principal);
  };
  return {
    authenticator: createAuthenticator({
      psk: keys,
      anonymous,
      isCurrent,
      onChange: (listener: () => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    close: () => keys.close(),
  };
}
