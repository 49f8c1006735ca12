/** Whether `work` resolves or rejects within `ms`. */
export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps the process alive during a wait: neither a silent peer nor a deadline does. */
export function holdProcess(): Disposable {
  const timer = setInterval(() => {}, LONG_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const LONG_MS = 3_600_000;
