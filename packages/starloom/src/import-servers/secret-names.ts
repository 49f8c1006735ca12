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
