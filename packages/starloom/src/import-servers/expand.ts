// `${VAR}` and its relatives in the files of other clients. A variable that is a whole value stays a
// reference, `env:VAR`, so that its value is in no file of ours; inside other text it is replaced,
// unless its name says that it is a secret. `$${` is a literal `${`; nothing is expanded twice.

import { homedir } from 'node:os';

interface ExpandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly projectFolder: string | undefined;
}

export type Expanded =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly fix: string };

const VARIABLE = /\$\$\{|\$\{([^}]*)\}/g;
const WHOLE = /^(\w+ )?\$\{([^}]*)\}$/;

/** A value that may be a reference: of `env`, or of `headers`, where a scheme may stand before it. */
export function expandSetting(text: string, context: ExpandContext): Expanded {
  const [, scheme = '', inner] = WHOLE.exec(text) ?? [];
  if (inner === undefined || text.startsWith('$$')) return expandText(text, context);
  const variable = readVariable(inner, context);
  if ('literal' in variable) return { ok: true, text: scheme + variable.literal };
  if ('message' in variable) return { ok: false, ...variable };
  if (context.env[variable.name] !== undefined) {
    return { ok: true, text: `${scheme}env:${variable.name}` };
  }
  if (variable.fallback === undefined) return notSet(variable);
  return { ok: true, text: scheme + variable.fallback };
}

/** A value that holds no references: a command, an argument, an address. */
export function expandText(text: string, context: ExpandContext): Expanded {
  let failure: Expanded | undefined;
  const expanded = text.replace(VARIABLE, (found, inner: string | undefined) => {
    if (inner === undefined) return '${';
    const variable = readVariable(inner, context);
    if ('literal' in variable) return variable.literal;
    const value = 'message' in variable ? undefined : context.env[variable.name];
    if ('message' in variable) failure ??= { ok: false, ...variable };
    else if (value === undefined && variable.fallback === undefined) failure ??= notSet(variable);
    else if (value !== undefined && isSecretName(variable.name))
      failure ??= secretExposed(variable.name);
    else return value ?? variable.fallback ?? '';
    return found;
  });
  return failure ?? { ok: true, text: expanded };
}

interface Variable {
  readonly name: string;
  readonly fallback?: string;
  readonly input?: string;
}

type Complaint = { readonly message: string; readonly fix: string };

function readVariable(
  inner: string,
  { projectFolder }: ExpandContext,
): Variable | Complaint | { readonly literal: string } {
  const [, name, fallback] = /^([A-Za-z_]\w*)(?::-((?:(?!\$\{).)*))?$/s.exec(inner) ?? [];
  if (name === 'workspaceFolder' && projectFolder !== undefined) return { literal: projectFolder };
  if (name === 'userHome') return { literal: homedir() };
  if (name !== undefined) return { name, ...(fallback !== undefined && { fallback }) };
  const [, kind, rest = ''] = /^(env|input):(.+)$/.exec(inner) ?? [];
  if (kind === 'env' && /^[A-Za-z_]\w*$/.test(rest)) return { name: rest };
  if (kind === 'input') {
    return { name: rest.toUpperCase().replace(/[^A-Z0-9]+/g, '_'), input: rest };
  }
  return {
    message: `\${${inner}} is no variable that can be taken over`,
    fix: `write \${NAME} or \${NAME:-default}; $\${ stands for itself`,
  };
}

function notSet({ name, input }: Variable): Expanded {
  const fix =
    input === undefined
      ? `set ${name}, or write \${${name}:-default}`
      : `set ${name} to what the client asks for as input "${input}"`;
  return { ok: false, message: `the variable ${name} is not set`, fix };
}

function secretExposed(name: string): Expanded {
  return {
    ok: false,
    message: `the value of ${name} would be plain text in the file of agents`,
    fix: `pass it alone in env or headers, as "\${${name}}"`,
  };
}

const SECRET_WORD =
  /(?:^|[_.-])(?:api_?key|key|token|secret|passw(?:or)?d|passphrase|pat|credentials?|authorization)$/i;

/** Whether a variable or a setting of this name holds a secret, going by its last word. */
export function isSecretName(name: string): boolean {
  return SECRET_WORD.test(name.replace(/([a-z])([A-Z])/g, '$1_$2'));
}

/** `env:NAME`, `file:PATH`, also behind the scheme of a header. */
export function isReference(value: string): boolean {
  return /^(?:\w+ )?(?:env|file):./.test(value);
}

/** The name under which an address or an argument holds a secret as text; none when it holds none. */
export function secretInText(text: string): string | undefined {
  const [, option, value] = /^--?([\w-]+)=(.+)$/s.exec(text) ?? [];
  if (option !== undefined && value !== undefined && isSecretName(option)) return `--${option}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.password !== '') return 'the password of the address';
  return [...url.searchParams.keys()].find((name) => isSecretName(name));
}
