/** Options that every command takes. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly config?: string;
}
