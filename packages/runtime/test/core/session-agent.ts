// Run by sessions.test.ts, and killed by it in the middle of a tool call.

import { openAgent } from '../../src/index.ts';
import { callTools, scripted, tool } from './world.ts';

const [, , stateFolder = ''] = process.argv;
const hang = tool('test:hang', () => {
  console.log('hanging');
  return new Promise(() => setInterval(() => {}, 1_000));
});
const agent = await openAgent({
  config: { agent: { name: 'tester' }, folder: '.' },
  provider: scripted('answer 1', 'answer 2', callTools({ name: 'test:hang' })),
  tools: [hang],
  stateFolder,
});
for (const number of [1, 2]) {
  await agent.turn(`message ${number}`, { sessionId: 'long' });
  console.log(`said ${number}`);
}
await agent.turn('hang', { sessionId: 'long' });
