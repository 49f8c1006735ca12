// The thread behind `threaded-file.ts`. Each file has a port; the module that is named with it serves it.

import { type MessagePort, parentPort } from 'node:worker_threads';

/** What the module of a file exports as `service`. */
export interface FileService<Request, Reply> {
  /** Reports every failure by a reply; what it throws ends the thread. */
  open(path: string, reply: (message: Reply) => void): ServedFile<Request>;
}

interface ServedFile<Request> {
  take(request: Request): void;
  /** Called when nothing else is to be done: does a little of what can wait; true while there is more. */
  tidy?(): boolean;
  close(): void;
}

/** Sent to the thread; after it the port carries requests, and `null` closes the file. */
export interface OpenFile {
  readonly module: string;
  readonly path: string;
  readonly port: MessagePort;
}

parentPort?.on('message', async ({ module, path, port }: OpenFile) => {
  const { service } = (await import(module)) as { service: FileService<unknown, unknown> };
  const file = service.open(path, (message) => port.postMessage(message));
  let tidying: NodeJS.Immediate | undefined;
  const tidy = () => {
    tidying = file.tidy?.() ? setImmediate(tidy) : undefined;
  };
  port.on('message', (request: unknown) => {
    if (request === null) {
      clearImmediate(tidying);
      file.close();
      port.close();
    } else {
      file.take(request);
      tidying ??= setImmediate(tidy);
    }
  });
});
