// What a command revoked in the state folder, given to the gateways with other folders at once. Where
// that fails the gateway of this folder does it later.

import { revealText } from '@starloom/config';
import { openStore, toRealmStore } from '@starloom/coordination';
import { FabricError, silentLog } from '@starloom/core';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { filesOf, shareRevocations } from '@starloom/identity';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

export interface Sharing {
  /** Whether the store has it; absent where the gateway shares no store. */
  readonly shared?: boolean;
  /** Why it does not. */
  readonly problem?: string;
}

/** Never fails: what was revoked holds in the state folder in any case. */
export async function shareNow(
  terminal: Terminal,
  folder: string,
  { config: path, json }: GlobalOptions,
): Promise<Sharing> {
  try {
    const { env, cwd } = terminal;
    const { coordination } = (await loadGatewayConfig({ path, env, cwd })).value;
    if (coordination.kind !== 'redis') return {};
    await share(revealText(coordination.url), folder);
    if (!json) terminal.tell('gateways that share the coordination store are notified');
    return { shared: true };
  } catch (thrown) {
    const { message: problem } = FabricError.from(thrown);
    if (!json) {
      terminal.tell(`not shared with gateways that have another state folder: ${problem}`);
      terminal.tell('the gateway of this state folder shares it when it reaches the store again');
    }
    return { shared: false, problem };
  }
}

async function share(url: string, folder: string): Promise<void> {
  const log = silentLog;
  const store = await openStore({ kind: 'redis', url }, { log });
  try {
    const realm = toRealmStore(store);
    await shareRevocations({ realm, files: filesOf(folder), now: Date.now(), log });
  } finally {
    await store.close();
  }
}
