import { createObserver, serveRpcChannel, stdioChannel } from '@starloom/gateway';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { settlesWithin } from '@starloom/wire';
import type { GlobalOptions } from '../global-options.ts';
import { openPlane } from '../open-plane.ts';
import { untilStopped } from '../signals.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';

/** How long a client that does not read may hold up the end. */
const FAREWELL_MS = 2_000;

/** One client, for as long as its input is open. With Redis it meets others; embedded it is alone. */
export async function serveRpc({ env, cwd }: Terminal, options: GlobalOptions): Promise<void> {
  const { value: config } = await loadGatewayConfig({ path: options.config, env, cwd });
  const { log_level: level } = config.telemetry;
  const observer = createObserver({ level, otlp: null, version: readVersion() });
  const { log } = observer;
  try {
    const { coordination, close } = await openPlane(config, undefined, log);
    const channel = stdioChannel({
      input: process.stdin,
      output: process.stdout,
      maxLineBytes: config.limits.body_bytes,
      log,
    });
    const served = serveRpcChannel(channel, { coordination, principal: LOCAL_PRINCIPAL, log });
    const stopped = untilStopped().then(async () => {
      await channel.close();
      await settlesWithin(served, FAREWELL_MS);
    });
    await Promise.race([served, stopped]);
    await close();
  } finally {
    await observer.shutdown();
  }
}
