// Loaded before a program by loaded-modules.system.test.ts: says at its end which modules it has loaded,
// as one line of JSON, the last on stderr.

import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';

const loaded = new Set<string>();

registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});

process.on('exit', () => writeSync(process.stderr.fd, `${JSON.stringify([...loaded])}\n`));
