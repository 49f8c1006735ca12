import { type AdapterFacts, NOWHERE } from '../fixtures/adapter-facts.ts';

const MCP = 'mcp-hostile-http.test.ts';
const MCP_STDIO = 'mcp-hostile-stdio.system.test.ts';
const MCP_MORE = 'misbehaviours-mcp.test.ts';

export const facts: AdapterFacts = {
  endpoint: { transport: 'http', uri: NOWHERE },
  misbehaviours: {
    'wrong ids': [
      [MCP, 'answers a question nobody asked'],
      [MCP_STDIO, 'not when it answers a request that was never made'],
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
};
