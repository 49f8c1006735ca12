/** Between tries of what may succeed before long. */
export const AGAIN_MS = 250;

/** Waits, without keeping the process alive for it. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
