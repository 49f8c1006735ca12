/**
 * Keeps the process while something is waited for: a silent peer holds no handle, nor do deadlines.
 */
export function holdProcess(): Disposable {
  const timer = setInterval(() => {}, LONG_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const LONG_MS = 3_600_000;
