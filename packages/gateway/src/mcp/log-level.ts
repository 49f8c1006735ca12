/** As MCP orders them. */
const LEVELS: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** Which log messages a client wants: all, until it says from which level on. */
export class ClientLogLevel {
  #least = 0;

  /** Levels that MCP does not know change nothing. */
  set(level: unknown): void {
    const at = LEVELS.indexOf(level);
    if (at >= 0) this.#least = at;
  }

  wants(level: unknown): boolean {
    return LEVELS.indexOf(level) >= this.#least;
  }
}
