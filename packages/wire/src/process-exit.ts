import type { ProcessExit } from './process.ts';

/** How a process ended and what it wrote last, for `details.upstream`. */
export function toUpstream({ code, signal }: ProcessExit, stderr: string) {
  return {
    ...(code === null ? {} : { exit_code: code }),
    ...(signal === null ? {} : { signal }),
    ...(stderr === '' ? {} : { stderr }),
  };
}
