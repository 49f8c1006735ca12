import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { chooseMode, misbehave } from './misbehave.ts';

const [line] = await once(createInterface({ input: process.stdin }), 'line');
const { input } = JSON.parse(line).envelope;

misbehave(chooseMode(input.task, process.env.FLAKY_MODE), {
  write: (text) => process.stdout.write(`${text}\n`),
  exit: (code) => {
    console.error('flaky dies, as it was asked to');
    process.exit(code);
  },
});
