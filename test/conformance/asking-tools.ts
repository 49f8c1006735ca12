// The tools with which the suite tests sampling and elicitation of older clients. Written in the
// way of the current revision: the SDK asks older clients itself, where it has a channel to them.

import { inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { type FixtureTool, fixtureTool, text } from './fixture-tool.ts';
import { form, optionalForm, sample } from './questions.ts';

const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled('First Option', 'Second Option', 'Third Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: {
    type: 'array',
    items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  },
  titledMulti: {
    type: 'array',
    items: { anyOf: titled('First Choice', 'Second Choice', 'Third Choice') },
  },
};

export const askingTools: readonly FixtureTool[] = [
  fixtureTool(
    'test_sampling',
    "Passes a prompt to the client's model",
    ({ prompt }, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'completion');
      if (answer.kind === 'sampling') return text(`LLM response: ${JSON.stringify(answer.result)}`);
      return inputRequired({ inputRequests: { completion: sample(String(prompt), 100) } });
    },
    { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  ),
  fixtureTool(
    'test_elicitation',
    'Asks the user for a name and an address',
    ({ message }, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'user');
      if (answer.kind === 'elicit') return text(`User response: ${JSON.stringify(answer)}`);
      const fields = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      };
      return inputRequired({ inputRequests: { user: form(String(message), fields) } });
    },
    { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  ),
  elicitation('test_elicitation_sep1034_defaults', 'Asks with default values', DEFAULTS),
  elicitation('test_elicitation_sep1330_enums', 'Asks with every kind of choice', ENUMS),
];

function elicitation(
  name: string,
  description: string,
  properties: Record<string, unknown>,
): FixtureTool {
  return fixtureTool(name, description, (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'form');
    if (answer.kind !== 'elicit') {
      return inputRequired({ inputRequests: { form: optionalForm(description, properties) } });
    }
    const { action, content } = answer;
    return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
  });
}

function titled(...titles: string[]) {
  return titles.map((title, index) => ({ const: `value${index + 1}`, title }));
}
