// An agent in about twenty lines: one tool, and a model that follows a script. Checks itself.

import assert from 'node:assert/strict';
import { openAgent } from '@starloom/runtime';
import { defineTool } from '@starloom/sdk';
import { z } from 'zod';

const dice = defineTool({
  name: 'game:roll',
  description: 'Rolls dice and adds them up.',
  command: 'roll',
  parameters: z.object({ dice: z.int().min(1).max(10) }),
  untrusted: false,
  execute: ({ dice }) => `${dice} dice show ${dice * 4}`,
});
const roll = { type: 'tool_call' as const, toolCall: { name: 'game:roll', args: { dice: 3 } } };
const script = [['Rolling. ', roll], 'You have twelve.'];

await using agent = await openAgent({
  config: {
    agent: { name: 'croupier', provider: { kind: 'scripted', script } },
    folder: import.meta.dirname,
  },
  tools: [dice],
});
agent.bus.on('EXEC:TOOL_RESULT', ({ data }) => console.log(data.call.name, data.result.output));

const answer = await agent.turn('Roll three dice for me.');
console.log(answer.segments);
assert.deepEqual(answer.segments, [{ type: 'text', text: 'You have twelve.' }]);
assert.equal(answer.steps, 2);

const typed = await agent.turn('/roll 2');
assert.deepEqual(typed.segments, [{ type: 'text', text: '2 dice show 8' }]);
console.log('all of it worked');
