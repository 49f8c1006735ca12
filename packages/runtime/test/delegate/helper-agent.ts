// Run by helper-process.system.test.ts, and killed by it while its helper works.

import { openAgent } from '../../src/index.ts';
import { callTools, scripted } from '../core/world.ts';

const helpers = [
  {
    name: 'apart',
    description: 'Waits.',
    provider: { kind: 'scripted' as const, script: [{ hang: true as const }] },
    process: true,
  },
];
const agent = await openAgent({
  config: { agent: { name: 'tester', helpers }, folder: '.' },
  provider: scripted(callTools({ name: 'agent:delegate', args: { to: 'apart', task: 'Wait.' } })),
});
agent.bus.on('STREAM:PROGRESS', ({ data }) => console.log(data.message));
await agent.turn('Go.');
