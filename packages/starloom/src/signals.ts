/** How long output without a reader may hold up a process that was asked to stop. */
const UNREAD_MS = 1_000;

let isAsked = false;

/** Resolves on SIGTERM or SIGINT; a second one ends the process at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      if (isAsked) process.exit(130);
      isAsked = true;
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** To be called when all is done: after a signal, the rest of the output is not waited for for ever. */
export function leaveUnread(): void {
  if (isAsked) setTimeout(() => process.exit(), UNREAD_MS).unref();
}
