import { join } from 'node:path';
import { revealText } from '@starloom/config';
import {
  type Coordination,
  createCoordination,
  openReopeningStore,
  openStore,
  toRealmStore,
} from '@starloom/coordination';
import { FabricError, type Log } from '@starloom/core';
import { mayUseCoordination } from '@starloom/gateway';
import type { GatewayConfig } from '@starloom/gateway/config';
import type { RealmStore } from '@starloom/identity';

interface OpenedPlane {
  readonly coordination: Coordination;
  /** What several gateways share; an embedded store is one gateway's alone. */
  readonly realm: RealmStore | undefined;
  close(): Promise<void>;
}

/** The embedded store is one gateway's alone: say how a second one gets its own. */
async function openOwnStore(...given: Parameters<typeof openStore>) {
  try {
    return await openStore(...given);
  } catch (error) {
    if (!FabricError.is(error) || error.details.reason !== 'store_in_use') throw error;
    const fix = 'stop the other starloom, or set STARLOOM_HOME to a folder of its own';
    const why = { details: { ...error.details, fix }, cause: error };
    throw new FabricError(error.code, 'Another starloom uses this state folder', why);
  }
}

/**
 * Sessions, context and locks as the configuration says: on Redis, or embedded with a log in the
 * state folder; without a folder everything is gone with the process. A file that cannot be used
 * does not stop the gateway: coordination is away until it can.
 */
export async function openPlane(
  { coordination: config }: GatewayConfig,
  stateFolder: string | undefined,
  log: Log,
): Promise<OpenedPlane> {
  const path = stateFolder && join(stateFolder, 'coordination.db');
  const store =
    config.kind === 'redis'
      ? await openStore({ kind: 'redis', url: revealText(config.url) }, { log })
      : await openReopeningStore({
          open: () => openOwnStore({ kind: 'embedded', path }, { log }),
          log,
          isFinal: ({ details }) => details.reason === 'store_in_use',
        });
  const { heartbeat_interval_ms: heartbeatIntervalMs } = config;
  const rules = { heartbeatIntervalMs, mayUse: mayUseCoordination };
  const coordination = createCoordination({ store, log, ...rules });
  coordination.start();
  const close = async () => {
    await coordination.close();
    await store.close();
  };
  const realm = config.kind === 'redis' ? toRealmStore(store) : undefined;
  return { coordination, realm, close };
}
