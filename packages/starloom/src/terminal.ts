/** The outside of a command: where it stands, and where its words go. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Data, to stdout. */
  readonly print: (text: string) => void;
  /** Data without a line break, to stdout. */
  readonly write: (text: string) => void;
  /** Talk, to stderr. */
  readonly tell: (text: string) => void;
  /** Set by a command that has printed its own failure. */
  exitCode: number;
}

export function createTerminal(process: NodeJS.Process): Terminal {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The reader of a pipe has gone (`starloom … | head`): nobody is left to tell.
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
  }
  return {
    env: process.env,
    cwd: process.cwd(),
    print: (text) => process.stdout.write(withNewline(text)),
    write: (text) => process.stdout.write(text),
    tell: (text) => process.stderr.write(withNewline(text)),
    exitCode: 0,
  };
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
