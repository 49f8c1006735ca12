import { reasonTable } from '@starloom/core';

const START = 'start one with "starloom up", or set STARLOOM_URL';

/** Why the command line refuses or fails by itself; mistakes of its use are `toUsageError`. */
export const failure = reasonTable({
  gateway_unreachable: {
    code: 'AGENT_OFFLINE',
    message: 'No gateway answers at {url}',
    fix: START,
  },
  'gateway_unreachable/unknown': {
    code: 'AGENT_OFFLINE',
    message: 'No gateway is known here',
    fix: START,
  },
  'gateway_unreachable/gone': {
    code: 'AGENT_OFFLINE',
    message: 'The gateway stopped answering',
    fix: START,
  },
  'gateway_unreachable/untrusted': {
    code: 'AGENT_OFFLINE',
    message: 'The certificate of the gateway at {url} is not trusted',
    fix: 'set NODE_EXTRA_CA_CERTS to the file of its CA, and use a name in its certificate',
  },
  no_realm: {
    code: 'BAD_INPUT',
    message: 'The configuration names no realm: there is nothing to share with',
    fix: 'set realm.key, and coordination.kind: redis, registry.kind: postgres or jobs.kind: postgres',
  },
  no_console: {
    code: 'BAD_INPUT',
    message: 'This gateway serves no console',
    fix: 'set console.enabled to true in its starloom.yaml, or update it',
  },
  unknown_key: {
    code: 'AUTH_DENIED',
    message: 'The gateway at {url} does not know this key',
    fix: 'set STARLOOM_KEY, or run the command as the user who ran "starloom up"',
  },
  'gateway_unreachable/node': {
    code: 'AGENT_OFFLINE',
    message: 'No gateway answers at {url}',
    fix: 'check --gateway; the node connects when the gateway is there',
  },
  'unknown_key/node': {
    code: 'AUTH_DENIED',
    message: 'The gateway at {url} does not know this key',
    fix: 'create one there: starloom keys create <name> --scope "register:<agent_id>"',
  },
  node_left: { code: 'AGENT_OFFLINE', message: 'Node "{node_id}" was stopped' },
  not_on_node: {
    code: 'AGENT_OFFLINE',
    message: 'The node has no agent "{agent_id}" any more',
    details: { sent: false },
  },
  node_request: {
    code: 'BAD_INPUT',
    message: 'The request "{method}" of the gateway is not known, or is malformed',
    fix: 'run the same version on the node and on the gateway',
    details: { sent: false },
  },
  no_final: { code: 'UPSTREAM_ERROR', message: 'The agent ended without a result' },
  unknown_agent: {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'There is no agent, tool or capability "{name}"',
  },
  'unknown_agent/file': {
    code: 'CAPABILITY_NOT_FOUND',
    message: 'There is no agent "{agent_id}" in {file}',
  },
  ambiguous: { code: 'BAD_INPUT', message: '"{name}" is the name of {count} tools' },
  'usage/capability': { code: 'BAD_INPUT', message: 'Which capability of {agent_id}?' },
  'usage/name': {
    code: 'BAD_INPUT',
    message: 'The name of the agent is missing before "--"',
    fix: 'write "starloom agents add <name> -- {command}"',
  },
  'usage/anonymous': {
    code: 'BAD_INPUT',
    message: 'Beyond this machine callers must show a key',
    fix: 'leave --anonymous out: the agent then has a key; or listen on 127.0.0.1',
  },
  answer_does_not_fit: {
    code: 'BAD_INPUT',
    message: 'The answer to "{id}" cannot be used: {why}',
    fix: 'correct the answer',
  },
  attachment_unreadable: {
    code: 'BAD_INPUT',
    message: 'Cannot read the attachment {file} ({errno})',
    fix: 'name a file that you may read',
  },
  attachment_too_large: {
    code: 'BAD_INPUT',
    message: 'The attachments are too large: {file} exceeds {limit}',
    fix: 'attach less, or give the agent a link',
  },
  not_writable: {
    code: 'BAD_INPUT',
    message: 'Cannot write {file} ({errno})',
    fix: 'name a folder that you may write to',
  },
  unconfirmed: {
    code: 'BAD_INPUT',
    message: 'This needs a confirmation, and there is no terminal to ask',
    fix: 'pass {flag}',
  },
  'config/client_file': {
    code: 'BAD_INPUT',
    message: 'The file {file} is not plain JSON; it may have comments, which would be lost',
    fix: 'add this to it by hand: {snippet}',
  },
  'config/state_folder': {
    code: 'BAD_INPUT',
    message: 'Cannot write to the state folder {folder} ({errno})',
    fix: 'make it writable, or set STARLOOM_HOME',
  },
  'config/api_key': {
    code: 'BAD_INPUT',
    message: '--api-key is not a reference',
    fix: 'write env:NAME or file:PATH; a key never stands in a file',
  },
  'config/caller': {
    code: 'BAD_INPUT',
    message: 'Test "{test}": no key has the principal "{caller}"',
    fix: 'write the caller as a map with id, tier and scopes',
  },
  'config/agent': {
    code: 'BAD_INPUT',
    message: 'Test "{test}": there is no agent "{agent}"',
    fix: 'write the agent as a map with id, tags and trust_tier',
  },
  exists: {
    code: 'BAD_INPUT',
    message: '{file} is already there',
    fix: 'name another folder, or overwrite it with --force',
  },
  no_such_agent: {
    code: 'BAD_INPUT',
    message: '"{what}" is no URL, no folder and no agent.json',
    fix: 'for a program write "starloom agents add {what} -- <command> [arguments]"',
  },
  program: {
    code: 'BAD_INPUT',
    message: '"{what}" is a program, not an agent.json',
    fix: 'name it and say how it starts: "starloom agents add <name> -- {run} {what}"',
  },
  manifest: { code: 'BAD_INPUT', message: '"{name}" cannot be added: {problem}' },
  nothing_exposed: {
    code: 'BAD_INPUT',
    message: 'The agent "{name}" exposes nothing',
    fix: 'name tools in expose.tools of agent.json; "ask" is the agent itself',
  },
  unknown_editor_agent: { code: 'BAD_INPUT', message: 'No editor agent is known as "{name}"' },
  look_alike: {
    code: 'BAD_INPUT',
    message: 'The name "{agent_id}" looks like "{like}"',
    fix: 'choose another name',
  },
  id_taken: {
    code: 'BAD_INPUT',
    message: 'Another agent is called "{agent_id}" in {file}',
    fix: 'choose another name, or replace that one with --force',
  },
  'id_taken/import': {
    code: 'BAD_INPUT',
    message: '{file} has other agents called {names}',
    fix: 'replace them with --force, or choose others with --only <name>',
  },
  unknown_server: { code: 'BAD_INPUT', message: 'There is no server "{server}" in {file}' },
  not_loaded: {
    code: 'AGENT_OFFLINE',
    message: 'The gateway did not load "{agent_id}"',
    fix: 'see "starloom health" and its log',
  },
  not_reached: { code: 'AGENT_OFFLINE', message: '"{agent_id}" was added, but {state}: {why}' },
  bad_certificate: {
    code: 'AGENT_OFFLINE',
    message: 'endpoint.tls.certificate of agent "{agent_id}" is no certificate',
    fix: 'name a certificate in PEM',
  },
  port_taken: {
    code: 'BAD_INPUT',
    message: 'Port {port} of the redirect address is taken',
    fix: 'end the program that uses it, or change it',
  },
  login_timeout: {
    code: 'TIMEOUT',
    message: 'No person logged in before the time limit',
    fix: 'run the command again',
  },
});
