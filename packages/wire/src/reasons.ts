import { reasonTable, rowsOf } from '@starloom/core';

const SEE_STDERR = 'see what the program wrote to stderr';
const BELOW_ROOTS = 'name a path below one of the roots';
const SEND_LESS = 'let the agent send less in one message, or send it as text';

/** An agent, or another server, did something wrong. */
const upstream = rowsOf('UPSTREAM_ERROR');
const offline = rowsOf('AGENT_OFFLINE');
const overloaded = rowsOf('OVERLOADED');
const badInput = rowsOf('BAD_INPUT');
const denied = rowsOf('POLICY_DENIED');
const bug = rowsOf('INTERNAL');

export const failure = reasonTable({
  time_limit: {
    code: 'TIMEOUT',
    message: 'No answer within {timeout_ms} ms',
    fix: 'raise the time limit, or ask for less',
  },
  not_a_number: bug('A deadline must be a number of milliseconds', 'pass milliseconds'),

  invalid_json: upstream('The agent sent text that is not JSON', 'let the agent send JSON'),
  invalid_utf8: upstream('The agent sent bytes that are not UTF-8', 'let the agent send UTF-8'),
  result_too_large: upstream(
    'The agent sent an answer over the size limit',
    'answer with less, or raise max_result_bytes',
  ),
  stream_too_large: upstream(
    'The agent streamed more than it may',
    'answer with less, or raise max_stream_bytes',
  ),
  line_too_long: upstream(
    'The upstream sent a line over the size limit',
    'send less at once, or raise the limit',
  ),
  event_too_large: upstream(
    'The upstream sent an event over the size limit',
    'send less at once, or raise the limit',
  ),
  too_deep: upstream('The JSON that the agent sent is nested too deep', SEND_LESS),
  too_many_values: upstream('The JSON that the agent sent has too many values', SEND_LESS),
  input_closed: upstream(
    'The upstream closed its input',
    'see whether the upstream is still running',
  ),
  answer_too_large: upstream('An answer of an authorization server is over the size limit'),
  not_json: badInput('The value cannot be written as JSON', 'pass a value that JSON can hold'),

  reader_stalled: overloadedReader(),
  buffer_full: overloadedReader(),
  stream_ended: { code: 'CANCELLED', message: 'The event stream is closed' },
  reader_left: { code: 'CANCELLED', message: 'The event stream is closed' },
  not_read: { code: 'CANCELLED', message: 'The answer is not read any more' },
  line_end: badInput(
    'The {field} of an event must be one line',
    'remove line ends and NUL, or use data',
  ),

  link_lost: offline(
    'The connection to {peer} was lost',
    'call again: the node connects again by itself',
  ),
  link_protocol: upstream(
    'The other side of the connection between gateway and node sent {problem}',
    'run the same version on both sides',
  ),
  link_window: upstream(
    'The node sent more than the reader had room for',
    'run the same version on both sides',
  ),
  link_streams: overloaded(
    'More than {limit} streams are open on the connection',
    'wait until some have ended',
  ),
  link_asks: upstream(
    'The agent may not ask here, or has {limit} questions open',
    'let the agent wait for answers before it asks more',
  ),
  link_message_too_large: {
    code: 'BAD_INPUT',
    message: 'The call is larger than {limit} characters, which is all that the node takes',
    fix: 'send less with the call',
    details: { sent: false },
  },
  'link_message_too_large/agent': upstream(
    'A message of the agent is larger than {limit} characters, which is all that the gateway takes',
    'let the agent send less at once',
  ),

  bad_cwd: unstartable('name a folder that exists as cwd'),
  'not_found/program': unstartable('install the program, or give its full path'),
  not_executable: unstartable('allow this user to execute the program'),
  spawn_failed: unstartable('see the cause in the log'),
  stdin_closed: offline('The program has closed its input', SEE_STDERR),
  stdout_broken: upstream('The output of the program cannot be read', SEE_STDERR),
  output_too_large: upstream('The program wrote too much', 'raise maxOutputBytes'),
  second_reader: bug('The output of the program has a reader already', 'share one reader'),

  host: otherServer('Host'),
  origin: otherServer('Origin'),
  bad_url: unreachable('give a whole URL'),
  scheme: unreachable('use http or https'),
  user_info: unreachable('send credentials in a header'),
  odd_spelling: unreachable('write the host in its usual form'),
  no_address: unreachable(
    'name the host, address or range in the allow list if it is meant to be reached',
  ),
  bad_allow_entry: badInput(
    'An entry of the allow list is no host, address or range',
    'write db.example, 10.1.2.3 or 10.0.0.0/8',
  ),

  disk_full: overloaded(
    'The disk is full: {what}',
    'Free space on the disk of the state folder; no restart is needed',
  ),
  file_busy: overloaded(
    'Another process is changing {file}',
    'try again; if none is, remove {lock}',
  ),
  outside_roots: outside(BELOW_ROOTS),
  symlink_out: outside(BELOW_ROOTS),
  moved_meanwhile: outside(BELOW_ROOTS),
  parent_segment: outside('write the path without ".."'),
  dangling_symlink: denied(
    'The path goes through a link that leads nowhere',
    'name the file itself',
  ),
  git_internals: denied('The inside of a git repository is not written to', 'use the git tools'),
  bad_root: badInput('The root "{name}" is not a folder', 'name a folder that exists in "roots"'),
  bad_path: badInput('This is not a path', 'give a path relative to the root'),
  'bad_path/long': badInput('The name is too long', 'choose a shorter name'),
  not_found: badInput('There is nothing at this path', 'list the folder to see what is there'),
  not_a_folder: badInput('A part of the path is a file', 'name a path that goes by folders'),
  not_a_file: badInput('This is {kind}, not a file', 'name a regular file'),
  no_permission: badInput('The file system does not permit it', 'name another file'),
  read_only: badInput('The file system is read-only', 'name another folder'),
  link_loop: badInput('The path leads through links in a circle', 'name the file itself'),
  'disk_full/postgres': overloaded(
    'The disk of the {what} is full',
    'Free space on the disk of Postgres',
  ),
  engine_unavailable: overloaded(
    'The {what} cannot be reached',
    'Check that Postgres runs, then try again',
  ),
  'disk_full/file': badInput('The disk is full', 'free some space'),
  binary: badInput('The file is not text', 'name a text file in UTF-8'),
  file_too_large: badInput(
    'The file is larger than {limit} bytes',
    'read a part of it with first_line and lines, or raise max_bytes of the fs plugin',
  ),
  changed_meanwhile: badInput(
    'The file changed while it was edited',
    'read it again, then edit it',
  ),
});

function overloadedReader() {
  const message = 'The reader of the event stream does not keep up';
  return { code: 'OVERLOADED', message, fix: 'read faster, or close the stream and poll' } as const;
}

function unstartable(fix: string) {
  const message = 'The program "{program}" could not be started';
  return { code: 'AGENT_OFFLINE', message, fix } as const;
}

function otherServer(header: string) {
  const message = `The ${header} header is not one of this server`;
  return { code: 'POLICY_DENIED', message, fix: 'call it by the address it listens on' } as const;
}

function unreachable(fix: string) {
  return {
    code: 'POLICY_DENIED',
    message: 'This address may not be called from here',
    fix,
  } as const;
}

function outside(fix: string) {
  const message = 'The path is outside the folders this tool may use';
  return { code: 'POLICY_DENIED', message, fix } as const;
}
