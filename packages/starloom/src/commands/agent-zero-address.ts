/** What an address of Agent Zero says beside where it is. */
export interface AgentZeroAddress {
  /** Without the token, which must not be in what everyone may list. */
  readonly uri: string;
  readonly token: string;
  readonly project: string | undefined;
}

const PATH = /^(.*)\/(?:mcp|a2a)\/t-([^/]+)(?:\/p-([^/]+))?(?:\/.*)?$/;

/** `http://host/mcp/t-<token>/p-<project>/http/` and `http://host/a2a/t-<token>/`, as it shows them. */
export function agentZeroAddress(url: URL): AgentZeroAddress | undefined {
  const [, base, token, project] = PATH.exec(url.pathname) ?? [];
  if (base === undefined || token === undefined) return undefined;
  return {
    uri: new URL(base === '' ? '/' : base, url.origin).href,
    token: decodeURIComponent(token),
    project: project === undefined ? undefined : decodeURIComponent(project),
  };
}
