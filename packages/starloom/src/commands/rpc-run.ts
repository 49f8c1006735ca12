import { createObserver, serveRpcChannel, stdioChannel } from '@starloom/gateway';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { settlesWithin } from '@starloom/wire';
import type { GlobalOptions } from '../global-options.ts';
import { openPlane } from '../open-plane.ts';
import { connectToPlane, passOn } from '../running-plane.ts';
import { untilStopped } from '../signals.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';

/** How long a client that does not read may hold up the end. */
const FAREWELL_MS = 2_000;

const ALONE =
  'no gateway runs here: this client is alone, and what it writes is gone with it; ' +
  'start "starloom up" first to share sessions and to keep them';

/**
 * One client, for as long as its input is open. It meets others on Redis, or through the gateway that
 * runs here, which has the embedded store for itself.
 */
export async function serveRpc(terminal: Terminal, options: GlobalOptions): Promise<void> {
  const { env, cwd } = terminal;
  const { value: config } = await loadGatewayConfig({ path: options.config, env, cwd });
  const { log_level: level } = config.telemetry;
  const isShared = config.coordination.kind === 'redis';
  const running = isShared ? undefined : await connectToPlane(terminal);
  if (!isShared && !running) terminal.tell(ALONE);
  const observer = createObserver({ level, otlp: null, version: readVersion() });
  const { log } = observer;
  const channel = stdioChannel({
    input: process.stdin,
    output: process.stdout,
    maxLineBytes: config.limits.body_bytes,
    log,
  });
  const serve = async () => {
    if (running) return await passOn(channel, running);
    const { coordination, close } = await openPlane(config, undefined, log);
    const principal = LOCAL_PRINCIPAL;
    const about = { face: 'rpc', transport: 'stdio', headers: {}, principal } as const;
    const observe = () => observer.requestStarted(about);
    await serveRpcChannel(channel, { coordination, principal, log, observe });
    await close();
  };
  try {
    const served = serve();
    const stopped = untilStopped().then(async () => {
      await channel.close();
      await settlesWithin(served, FAREWELL_MS);
    });
    await Promise.race([served, stopped]);
  } finally {
    await observer.shutdown();
  }
}
