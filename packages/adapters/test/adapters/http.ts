import { type AdapterFacts, at, everyHttp } from '../fixtures/adapter-facts.ts';

const HTTP = 'http.test.ts';

const templates = (words: string) => everyHttp('http-template.test.ts', 'http, template', words);

export const facts: AdapterFacts = {
  endpoint: at('http'),
  mandateHeaders: [{}],
  misbehaviours: {
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
};
