import { once } from 'node:events';
import { connect } from 'node:net';

/** The first bytes a loopback server sends back, within a second. */
export async function firstAnswer(port: number, request: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(request);
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
    return String(answer);
  } finally {
    socket.destroy();
  }
}
