// What a child process may know of ours: a short allow-list and what the caller adds. Keys, tokens
// and anything that changes how a program is loaded (NODE_OPTIONS, LD_PRELOAD) stay behind.

export type Environment = Readonly<Record<string, string>>;

interface ChildEnvironmentOptions {
  /** Names inherited besides the standard ones. */
  readonly allow?: readonly string[];
  /** Set whatever the parent has. */
  readonly extra?: Environment;
  readonly from?: Readonly<Record<string, string | undefined>>;
}

/** Names the process a child belongs to, so that it is found after it left its group. */
export const PROCESS_MARKER = 'STARLOOM_PROCESS';
/** Ends the mark of a program that is an agent. */
export const AGENT_MARK = '@';

/** The marks of a process, for the gateway that it calls: they give no right. */
export function marksIn(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const marks = env[PROCESS_MARKER];
  return marks !== undefined && /^[\w.,@-]{1,4096}$/.test(marks) ? marks : undefined;
}

/** How many agents of gateways, one inside another, this process runs in. */
export function agentsAround(env: Readonly<Record<string, string | undefined>>): number {
  const marks = marksIn(env)?.split(',') ?? [];
  return marks.filter((mark) => mark.endsWith(AGENT_MARK)).length;
}

export function childEnvironment(options: ChildEnvironmentOptions = {}): Environment {
  const { allow = [], extra = {}, from = process.env } = options;
  const names = new Set([...INHERITED, ...allow].map(normalizeName));
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined) continue;
    if (names.has(normalizeName(name)) || name.startsWith('LC_')) inherited[name] = value;
  }
  return { ...inherited, ...extra };
}

/** Marks nest: what a marked process starts carries the marks of all its ancestors. */
export function markEnvironment(
  environment: Environment,
  mark: string,
  from: Readonly<Record<string, string | undefined>> = process.env,
): Environment {
  const ancestors = from[PROCESS_MARKER];
  return { ...environment, [PROCESS_MARKER]: ancestors ? `${ancestors},${mark}` : mark };
}

const INHERITED = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'TMPDIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'SystemRoot',
  'SystemDrive',
  'ComSpec',
  'PATHEXT',
  'TEMP',
  'TMP',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  'ProgramData',
  'ProgramFiles',
];

function normalizeName(name: string): string {
  return process.platform === 'win32' ? name.toUpperCase() : name;
}
