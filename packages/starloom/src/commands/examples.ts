/** The first thing that `--help` shows: what people type, and what it does. */
export function examples(...rows: readonly (readonly [command: string, does: string])[]): string {
  const width = Math.max(...rows.map(([command]) => command.length));
  const lines = rows.map(([command, does]) => `  ${command.padEnd(width)}  ${does}`.trimEnd());
  return ['Examples:', ...lines, ''].join('\n');
}
