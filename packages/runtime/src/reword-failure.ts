// Failures of the MCP and A2A clients for people who write agent.toml. The gateway shares these clients: they call
// the other side "the agent", which is us here, and their fixes are for agents.yaml.

import { FabricError, type Fields } from '@starloom/core';

type Noun = 'server' | 'peer';

/** `shown`: what the other side is called in a sentence, such as `the peer "percy"`. */
export function rewordFailure(
  error: FabricError,
  noun: Noun,
  shown: string,
  about: Readonly<Fields>,
): FabricError {
  const { code, message, details, cause, answer } = error;
  const fix = FIXES[String(details.reason)]?.replaceAll('{it}', noun) ?? details.fix;
  return new FabricError(code, message.replace(/\b(t)he agent\b/i, `$1${shown.slice(1)}`), {
    details: { ...details, ...about, ...(fix !== undefined && { fix }) },
    cause,
    answer,
  });
}

const SEE_IT_RUNS = 'see whether the {it} runs, and check its entry in agent.toml';
const NAME_A_SERVER = 'name an MCP server in agent.toml';

const FIXES: Readonly<Record<string, string>> = {
  agent_denied: 'set "headers" of the {it} in agent.toml',
  bad_header: 'correct "headers" of the {it} in agent.toml',
  refused: SEE_IT_RUNS,
  unknown_host: SEE_IT_RUNS,
  connect_timeout: SEE_IT_RUNS,
  tls: SEE_IT_RUNS,
  unreachable: SEE_IT_RUNS,
  bad_card: SEE_IT_RUNS,
  no_card: SEE_IT_RUNS,
  card_points_elsewhere: 'name the origin in "origins" of the {it} in agent.toml',
  card_signature: 'let the {it} sign its card, or correct its "card_keys" in agent.toml',
  handshake: NAME_A_SERVER,
  invalid_http: NAME_A_SERVER,
  not_json: NAME_A_SERVER,
  not_json_rpc: NAME_A_SERVER,
  not_mcp: NAME_A_SERVER,
  redirect: 'use the final address as "url" of the {it} in agent.toml',
  process_ended: 'see what the {it} wrote to stderr, and run its command by hand',
  backoff: 'see why the {it} fails: run its command by hand, or look at its log',
  answer_too_large: 'ask the {it} for less',
};
