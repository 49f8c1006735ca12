// Which test proves what an adapter makes of an agent that misbehaves. Every adapter of the table
// answers every case: with the tests that make its agent do so, or with why it cannot happen. A test is
// named by its file and by words of its title, or of a row of its table.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { adapters } from '../src/index.ts';

const CASES = [
  'wrong ids',
  'two finals',
  'events after the end',
  'a stream without end',
  'no end of a line or event',
  'invalid UTF-8',
  'success with an error inside',
  'a hang before or inside headers',
  'a half-open connection',
  'an address elsewhere',
  'garbage',
  'an answer too large',
] as const;

type Case = (typeof CASES)[number];
type Proof = readonly [file: string, words: string];
type Cell = readonly Proof[] | { readonly never: string };

const A2A = 'a2a-hostile.test.ts';
const RUNS = 'agent-communication-protocol-hostile.test.ts';
const ZERO = 'agent-zero-hostile.test.ts';
const EDITOR = 'agent-client-protocol-hostile.system.test.ts';
const PROCESS = 'local-process.system.test.ts';
const HTTP = 'http.test.ts';
const MCP = 'mcp-hostile-http.test.ts';
const MCP_STDIO = 'mcp-hostile-stdio.system.test.ts';
const MCP_MORE = 'misbehaviours-mcp.test.ts';

/** A case of `hostileHttpAgent`, for an adapter that runs it. */
function everyHttp(suite: string, title: string, words: string): readonly Proof[] {
  return [
    [suite, `hostileHttpAgent('${title}'`],
    ['fixtures/hostile-http.ts', words],
  ];
}

const runs = (words: string) => everyHttp(RUNS, 'agent-communication-protocol', words);
const zero = (words: string) => [
  ...everyHttp(ZERO, 'agent-zero, http', words),
  ...everyHttp(ZERO, 'agent-zero, a2a', words),
];
const templates = (words: string) => everyHttp('http-template.test.ts', 'http, template', words);

const ONE_ANSWER = { never: 'a request has one answer, which is read once it is whole' };
const PIPES = { never: 'a program is spoken to over pipes, which have no headers' };
const NO_ADDRESS = { never: 'a program names no address that is called' };

const MATRIX: Readonly<Record<keyof typeof adapters, Readonly<Record<Case, Cell>>>> = {
  a2a: {
    'wrong ids': [
      [A2A, 'sends events of another task'],
      [A2A, 'answers a request that was not made'],
    ],
    'two finals': [[A2A, 'ends with its first final, whatever it says after that']],
    'events after the end': [[A2A, 'ends with its first final, whatever it says after that']],
    'a stream without end': [
      [A2A, 'a stream without an end'],
      ['a2a-grpc-hostile.test.ts', 'is cut off when its stream has no end'],
    ],
    'no end of a line or event': [[A2A, 'an event without an end']],
    'invalid UTF-8': [[A2A, 'sends bytes that are not UTF-8']],
    'success with an error inside': [
      [A2A, 'says 200 with an error inside'],
      [A2A, 'an error as an item'],
    ],
    'a hang before or inside headers': [
      [A2A, 'before its headers'],
      [A2A, 'inside its headers'],
      ['a2a-grpc-hostile.test.ts', 'says nothing at all'],
    ],
    'a half-open connection': [[A2A, 'behind a socket that is half open']],
    'an address elsewhere': [
      ['a2a-card.test.ts', 'the metadata of a cloud'],
      [A2A, 'sends us elsewhere'],
    ],
    garbage: [[A2A, 'streams what is no JSON']],
    'an answer too large': [
      [A2A, 'announces an answer that is too large'],
      ['a2a-grpc-hostile.test.ts', 'sends a message over the limit'],
    ],
  },
  mcp: {
    'wrong ids': [
      [MCP, 'answers a question nobody asked'],
      [MCP_STDIO, 'not when it answers what nobody asked'],
    ],
    'two finals': [
      [MCP, 'is believed once when it answers twice'],
      [MCP_STDIO, 'is believed once when it answers twice'],
    ],
    'events after the end': [[MCP, 'does not keep a stream open after its answer']],
    'a stream without end': [[MCP, 'is cut off when its answer grows beyond the limit']],
    'no end of a line or event': [
      [MCP, 'never ends an event'],
      [MCP_STDIO, 'is ended when a line grows beyond the limit'],
    ],
    'invalid UTF-8': [[MCP_MORE, 'sends bytes that are not UTF-8']],
    'success with an error inside': [
      [MCP_MORE, 'says 200 with an error inside'],
      [MCP_STDIO, 'neither result nor error'],
    ],
    'a hang before or inside headers': [
      [MCP, 'is left at once when the time is up before its headers'],
      [MCP_MORE, 'inside its headers'],
    ],
    'a half-open connection': [[MCP_MORE, 'behind a socket that is half open']],
    'an address elsewhere': [[MCP, 'is not followed by a redirect']],
    garbage: [
      [MCP, 'answers with garbage that is called JSON'],
      [MCP_STDIO, 'may say other things on stdout, within reason'],
    ],
    'an answer too large': [[MCP, 'sends an answer that is announced as too large']],
  },
  'agent-communication-protocol': {
    'wrong ids': [[RUNS, 'another run']],
    'two finals': [[RUNS, 'ends with the first end: what follows is dropped']],
    'events after the end': [[RUNS, 'is cut when it goes on for ever after its end']],
    'a stream without end': [[RUNS, 'of events without end']],
    'no end of a line or event': [[RUNS, 'with an event without end']],
    'invalid UTF-8': runs('bytes that are not UTF-8'),
    'success with an error inside': [[RUNS, 'with a failed run is the answer of the agent']],
    'a hang before or inside headers': [...runs('before its head'), ...runs('inside its head')],
    'a half-open connection': runs('behind a socket that is half open'),
    'an address elsewhere': [
      [RUNS, 'that points elsewhere is not followed'],
      ...runs('a redirect'),
    ],
    garbage: runs('text that is no JSON'),
    'an answer too large': runs('JSON without end'),
  },
  'agent-zero': {
    'wrong ids': [
      [ZERO, 'another task'],
      [ZERO, 'an answer to another request'],
    ],
    'two finals': ONE_ANSWER,
    'events after the end': ONE_ANSWER,
    'a stream without end': zero('JSON without end'),
    'no end of a line or event': zero('JSON without end'),
    'invalid UTF-8': zero('bytes that are not UTF-8'),
    'success with an error inside': [
      [ZERO, 'an error of its own'],
      ['agent-zero-lanes.test.ts', 'is its own answer: http'],
    ],
    'a hang before or inside headers': [...zero('before its head'), ...zero('inside its head')],
    'a half-open connection': zero('behind a socket that is half open'),
    'an address elsewhere': zero('a redirect'),
    garbage: zero('text that is no JSON'),
    'an answer too large': zero('JSON without end'),
  },
  http: {
    'wrong ids': { never: 'an answer belongs to its request, and has no id' },
    'two finals': [[HTTP, 'is held to its first answer']],
    'events after the end': [[HTTP, 'is cut when it goes on after its answer']],
    'a stream without end': [
      [HTTP, 'is cut when its stream as a whole is too large'],
      ['http-profiles.test.ts', 'a stream without end, of an agent of a ready profile'],
    ],
    'no end of a line or event': [
      [HTTP, 'an event without end'],
      ['http-template.test.ts', 'a line without end'],
    ],
    'invalid UTF-8': templates('bytes that are not UTF-8'),
    'success with an error inside': [
      [HTTP, 'is an error in the middle of a stream'],
      ['http-agents.test.ts', 'an error inside of the state'],
    ],
    'a hang before or inside headers': [
      [HTTP, 'before the head of its answer'],
      ...templates('inside its head'),
    ],
    'a half-open connection': templates('behind a socket that is half open'),
    'an address elsewhere': [
      [HTTP, 'is not followed when it leads elsewhere'],
      ['http-template.test.ts', 'is not asked for at %s'],
    ],
    garbage: [[HTTP, 'a stream of garbage']],
    'an answer too large': [[HTTP, 'JSON of unknown length']],
  },
  'local-process': {
    'wrong ids': [
      ['local-process-pooled.system.test.ts', 'passes over lines of calls it does not know'],
    ],
    'two finals': [[PROCESS, 'keeps the first of two answers, whatever follows it']],
    'events after the end': [[PROCESS, 'keeps the first of two answers, whatever follows it']],
    'a stream without end': [[PROCESS, 'streams for ever']],
    'no end of a line or event': [[PROCESS, 'an endless line']],
    'invalid UTF-8': [[PROCESS, 'bytes that are not UTF-8']],
    'success with an error inside': [
      ['local-process-presets.system.test.ts', "type: 'result', is_error: true"],
    ],
    'a hang before or inside headers': [[PROCESS, 'never answers']],
    'a half-open connection': [[PROCESS, 'is ended when it closes its output without an answer']],
    'an address elsewhere': NO_ADDRESS,
    garbage: [[PROCESS, 'is UPSTREAM_ERROR for garbage']],
    'an answer too large': [[PROCESS, 'a hundred megabytes']],
  },
  'agent-client-protocol': {
    'wrong ids': [
      [EDITOR, 'wrong ids'],
      [EDITOR, 'updates of others'],
    ],
    'two finals': [[EDITOR, 'two answers']],
    'events after the end': [[EDITOR, 'updates after the end']],
    'a stream without end': [[EDITOR, 'too much text']],
    'no end of a line or event': [[EDITOR, 'no newline']],
    'invalid UTF-8': [[EDITOR, 'not UTF-8']],
    'success with an error inside': [[EDITOR, 'result and error']],
    'a hang before or inside headers': PIPES,
    'a half-open connection': [[EDITOR, 'closes its output and stays']],
    'an address elsewhere': NO_ADDRESS,
    garbage: [[EDITOR, 'endless garbage']],
    'an answer too large': [[EDITOR, 'too much text']],
  },
};

describe.each(Object.keys(adapters) as (keyof typeof adapters)[])(
  '[G28] what the adapter %s makes of an agent with',
  (adapter) => {
    it.each(CASES)('%s is tested, or cannot happen', (kind) => {
      const cell = MATRIX[adapter]?.[kind];
      if (cell === undefined) return expect.fail(`say which test proves it: ${adapter}, ${kind}`);
      if ('never' in cell) return expect(cell.never).not.toBe('');
      expect(cell.length).toBeGreaterThan(0);
      for (const [file, words] of cell) {
        expect(readFileSync(new URL(file, import.meta.url), 'utf8'), file).toContain(words);
      }
    });
  },
);
