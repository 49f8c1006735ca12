// Failures of the shared client in the words of an agent: the peer is an MCP server, and what can be
// corrected is in agent.toml.

import { bounded, FabricError, isErrorCode, toFields } from '@starloom/core';
import { rpcErrorOf } from '@starloom/mcp-client';

const SEE_IT_RUNS = 'see whether the server runs, and check its entry in agent.toml';
const NAME_A_SERVER = 'name an MCP server in agent.toml';

const FIXES: Readonly<Record<string, string>> = {
  agent_denied: 'set "headers" of the server in agent.toml',
  bad_header: 'correct "headers" of the server in agent.toml',
  refused: SEE_IT_RUNS,
  unknown_host: SEE_IT_RUNS,
  connect_timeout: SEE_IT_RUNS,
  tls: SEE_IT_RUNS,
  unreachable: SEE_IT_RUNS,
  handshake: NAME_A_SERVER,
  invalid_http: NAME_A_SERVER,
  not_json: NAME_A_SERVER,
  not_json_rpc: NAME_A_SERVER,
  not_mcp: NAME_A_SERVER,
  redirect: 'use the final address as "url" of the server in agent.toml',
  process_ended: 'see what the server wrote to stderr, and run its command by hand',
  backoff: 'see why the server fails: run its command by hand, or look at its log',
  answer_too_large: 'ask the server for less',
};

export function serverFailure(server: string, error: unknown): FabricError {
  const failure = FabricError.from(error);
  const { code, message, details, cause, answer } = failure;
  if (isOfStarloom(failure)) return failure.with({ server });
  const fix = FIXES[String(details.reason)] ?? details.fix;
  const rpc = rpcErrorOf(failure);
  return new FabricError(code, rpc ? bounded(rpc.message) : rewordMessage(message, server), {
    details: { ...details, server, ...(fix !== undefined && { fix }) },
    cause,
    answer,
  });
}

/** A failure that another Starloom reported speaks of its own agents. */
function isOfStarloom({ details }: FabricError): boolean {
  return isErrorCode(toFields(details.upstream).code);
}

/** The client calls its peer "the agent", which is us here. */
function rewordMessage(message: string, server: string): string {
  return message.replace(/\bthe agent\b/i, (words) =>
    words.startsWith('T') ? `The MCP server "${server}"` : `the MCP server "${server}"`,
  );
}
