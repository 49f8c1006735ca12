import type { LogDestination } from '../../../src/observe/log-lines.ts';

/** A destination that keeps what it is given. */
export class LogLines implements LogDestination {
  text = '';
  flushed = 0;

  write(line: string): void {
    this.text += line;
  }

  flush(done: () => void): void {
    this.flushed += 1;
    done();
  }

  get all(): Record<string, unknown>[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  with(message: string): Record<string, unknown>[] {
    return this.all.filter((line) => line.message === message);
  }
}
