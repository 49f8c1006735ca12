// One thread owns every file that is synced to disk, so that no sync stops the gateway's own thread.
// It is started with the first file and never ended: threads that come and go crash V8 of Node 24.

import { extname } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { OpenFile } from './file-thread.ts';

interface ThreadedFileOptions<Reply> {
  /** The module that serves the file in the thread: it exports a `FileService` as `service`. */
  readonly module: URL;
  readonly path: string;
  readonly onReply: (reply: Reply) => void;
  /** The thread ended by itself, with its error where it threw one. */
  readonly onLost: (cause: unknown) => void;
}

/** A file in the thread, as the thread of the gateway sees it. It keeps the process alive while held. */
export class ThreadedFile<Request, Reply> {
  readonly #port: MessagePort;
  readonly #onLost: (cause: unknown) => void;
  readonly #closed: Promise<void>;

  constructor({ module, path, onReply, onLost }: ThreadedFileOptions<Reply>) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#onLost = onLost;
    this.#closed = new Promise((resolve) => port1.once('close', resolve));
    port1.on('message', onReply);
    losses.add(onLost);
    const file: OpenFile = { module: module.href, path, port: port2 };
    thread ??= startThread();
    thread.postMessage(file, [port2]);
  }

  send(request: Request): void {
    this.#port.postMessage(request);
  }

  hold(): void {
    this.#port.ref();
  }

  release(): void {
    this.#port.unref();
  }

  /** Resolves when the thread has closed the file. */
  async close(): Promise<void> {
    losses.delete(this.#onLost);
    this.#port.ref();
    this.#port.postMessage(null);
    await this.#closed;
  }
}

const losses = new Set<(cause: unknown) => void>();
let thread: Worker | undefined;

function startThread(): Worker {
  const ending = extname(import.meta.url);
  const url = new URL(`./file-thread${ending}`, import.meta.url);
  // The launcher's resolve hook does not reach threads: source finds the source of other packages so.
  const conditions = ending === '.ts' ? ['--conditions=@starloom/source'] : [];
  // Node 22 warns that SQLite is experimental.
  const execArgv = ['--disable-warning=ExperimentalWarning', ...conditions];
  const worker = new Worker(url, { execArgv });
  let cause: unknown;
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', () => {
    thread = undefined;
    const lost = [...losses];
    losses.clear();
    for (const onLost of lost) onLost(cause);
  });
  worker.unref();
  return worker;
}
