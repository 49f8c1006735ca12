import type { Capability } from '@starloom/core';
import type { Confirm } from '../pipeline/attempt.ts';
import type { Pinning } from './pinning.ts';

/** Asks `confirm` once for each definition that an adapter lists, and again when approvals change. */
export function confirmOnce(pinning: Pick<Pinning, 'onChange'>, confirm: Confirm): Confirm {
  /** What was served, by what the adapter listed for it. */
  let confirmed = new WeakMap<Capability, Capability>();
  pinning.onChange(() => {
    confirmed = new WeakMap();
  });
  return (manifest, capability, offered) => {
    if (confirmed.get(offered) === capability) return;
    confirm(manifest, capability, offered);
    confirmed.set(offered, capability);
  };
}
