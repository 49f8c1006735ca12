import { closestWord } from '@starloom/core';

const ALL = '*';

/** A name that the operator listed and the server does not offer. */
export interface MissingTool {
  readonly name: string;
  /** One that may have been meant. */
  readonly near: string | undefined;
}

/** The operator listed the tools of this server, by name or with `*`: their descriptions are vetted. */
export function isListed(allowed: readonly string[] | undefined): boolean {
  return allowed !== undefined;
}

/** What a server's tools come to: not set or `*` is all of them, an empty list none, a list those. */
export function allowedTools<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  allowed: readonly string[] | undefined,
) {
  if (allowed === undefined) return { tools: [...tools], missing: [] as MissingTool[] };
  const names = new Set(tools.map(({ name }) => name));
  const all = allowed.includes(ALL);
  return {
    tools: tools.filter(({ name }) => all || allowed.includes(name)),
    missing: allowed
      .filter((name) => name !== ALL && !names.has(name))
      .map((name): MissingTool => ({ name, near: closestWord(name, names) })),
  };
}
