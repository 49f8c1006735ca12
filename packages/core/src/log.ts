export type LogFields = Readonly<Record<string, unknown>>;

/** What parts need of a logger; pino is one. Fields never hold secrets. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger whose every line also has `fields`. */
  child(fields: LogFields): Log;
}

export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
