// The attacker in a process of its own, so that its work does not slow the ordinary client down. Prints a line
// when it is up; for each line that it reads, `{attack, target}`, it prints the outcome when the attack is over.

import { readNdjson } from '@starloom/wire';
import type { Target } from './attack.ts';
import { ATTACKS, type AttackName } from './attacks/index.ts';
import { giveWay } from './machine-load.ts';

giveWay();

process.stdout.write('{}\n');
for await (const line of readNdjson(process.stdin, { maxLineBytes: 1 << 16 })) {
  const { attack, target } = line as { attack: AttackName; target: Target };
  const outcome = await ATTACKS[attack].run(target);
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
process.exit(0);
