import { once } from 'node:events';
import type { MessageChannel } from '@starloom/gateway';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { settlesWithin, toRefusal } from '@starloom/wire';
import type { Command } from 'commander';
import { WebSocket } from 'ws';
import { action, type GlobalOptions, readVersion, untilStopped } from '../command-line.ts';
import { readAddress } from '../gateway-client.ts';
import { failure } from '../reasons.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';

export function define(command: Command, terminal: Terminal): void {
  command
    .option('--stdio', 'over standard input and output, one message a line')
    .action(action(terminal, () => serveRpc));
}

/** How long the end waits for a client that does not read. */
const FAREWELL_MS = 2_000;

const ALONE =
  'no gateway runs here: this client is alone, and what it writes is gone with it; ' +
  'start "starloom up" first to share sessions and to keep them';

/**
 * One client, for as long as its input is open. It meets others on Redis, or through the gateway that
 * runs here, which has the embedded store for itself.
 */
async function serveRpc(terminal: Terminal, options: GlobalOptions & { readonly stdio?: true }) {
  if (!options.stdio) throw toUsageError('say --stdio; over HTTP it is part of "starloom up"');
  const { env, cwd } = terminal;
  const { value: config } = await loadGatewayConfig({ path: options.config, env, cwd });
  const { log_level: level } = config.telemetry;
  const isShared = config.coordination.kind === 'redis';
  const running = isShared ? undefined : await connectToPlane(terminal);
  if (!isShared && !running) terminal.tell(ALONE);
  const { createObserver, serveRpcChannel, stdioChannel } = await import('@starloom/gateway');
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
    const { openPlane } = await import('../open-plane.ts');
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

// The coordination plane of a gateway that runs already, for a client that has only pipes.

const CONNECT_MS = 5_000;
const MAX_BUFFERED = 1 << 20;

/** `undefined` when no gateway answers; throws when the environment names one. */
async function connectToPlane({ env }: Terminal): Promise<WebSocket | undefined> {
  const { url, headers } = await readAddress(env);
  if (url === undefined) return undefined;
  const address = new URL('/rpc/ws', url);
  const socket = new WebSocket(address, { headers, handshakeTimeout: CONNECT_MS });
  try {
    await once(socket, 'open');
    return socket;
  } catch (error) {
    if (env.STARLOOM_URL === undefined) return undefined;
    throw failure('gateway_unreachable', { url }, { cause: error });
  }
}

/** Messages pass as they are, both ways, until the client is gone and was answered. */
async function passOn(channel: MessageChannel, socket: WebSocket): Promise<void> {
  /** Answers that the client still waits for. */
  let missing = 0;
  const { promise: answered, resolve: noneMissing } = Promise.withResolvers<void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  let hasLeft = false;
  const lost = once(socket, 'close').then(() => 'lost' as const);
  socket.on('error', () => {});
  socket.on('message', async (data) => {
    const text = data.toString();
    await giveInTurn(channel, socket, text).catch(() => leave());
    if (isAnswer(text)) missing -= 1;
    if (hasLeft && missing <= 0) noneMissing();
  });
  channel.open((incoming) => {
    if (typeof incoming !== 'string')
      return void channel.write(toRefusal(incoming, null, 'details').body);
    if (wantsAnswer(incoming)) missing += 1;
    return send(socket, incoming);
  }, leave);
  if ((await Promise.race([left, lost])) === 'lost') {
    await channel.close();
    throw failure('gateway_unreachable/gone');
  }
  hasLeft = true;
  if (missing > 0) await settlesWithin(Promise.race([answered, lost]), FAREWELL_MS);
  socket.close(1000);
  if (!(await settlesWithin(lost, FAREWELL_MS))) socket.terminate();
}

/** Returns a promise when the socket has no room for the next message; it resolves when there is. */
function send(socket: WebSocket, text: string): Promise<void> | undefined {
  const sent = Promise.withResolvers<void>();
  socket.send(text, () => sent.resolve());
  return socket.bufferedAmount > MAX_BUFFERED ? sent.promise : undefined;
}

/** Reads no more from the gateway until the client took this message. Rejects when the client is gone. */
async function giveInTurn(channel: MessageChannel, socket: WebSocket, text: string): Promise<void> {
  socket.pause();
  try {
    await channel.write(text);
  } finally {
    socket.resume();
  }
}

/** The gateway answers a text that is not JSON, too: with an error. */
function wantsAnswer(text: string): boolean {
  const messages = parse(text);
  return messages === undefined || messages.some((message) => 'id' in message);
}

function isAnswer(text: string): boolean {
  return !parse(text)?.some((message) => 'method' in message);
}

function parse(text: string): object[] | undefined {
  try {
    return [JSON.parse(text)].flat().filter((each) => typeof each === 'object' && each !== null);
  } catch {
    return undefined;
  }
}
