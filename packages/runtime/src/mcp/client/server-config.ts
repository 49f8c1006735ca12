/**
 * One `[[mcp.servers]]` of `agent.toml`, its secrets resolved. Whether `allowed_tools` is not set, empty
 * or a list makes a difference: all of its tools (with a warning), none, those.
 */
export interface McpServerConfig {
  /** Its tools are named `<name>:<tool>`. */
  readonly name: string;
  /** Program and arguments of a subprocess; else there is `url`. */
  readonly command?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Address of a server over HTTP. */
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly allowed_tools?: readonly string[] | undefined;
  /** By the server's own names for its tools. */
  readonly tools?: Readonly<Record<string, McpToolConfig>> | undefined;
}

/** What the operator says of one tool, instead of what its name and arguments say. */
export interface McpToolConfig {
  readonly effect?: 'read' | 'act' | undefined;
  /** Arguments that say where an act goes. */
  readonly targets?: readonly string[] | undefined;
}
