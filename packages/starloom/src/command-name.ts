type Env = Readonly<Record<string, string | undefined>>;

/** What a person types to run this program: with npx where npm started it. */
export function ownName(env: Env): string {
  return env.npm_command === undefined ? 'starloom' : 'npx starloom';
}

/** A command at the beginning of a line or of a quotation. */
const COMMAND = /(^ *|[`"])starloom(?= (?:up|agents?|call|route|health|jobs|rpc|config|-))/gm;

/** The text with the commands in it as they are typed here. */
export function asTyped(text: string, env: Env): string {
  return text.replace(COMMAND, `$1${ownName(env)}`);
}
