#!/usr/bin/env node
// Starts the command line: from source in a checkout, from the bundle where it is installed. Source runs
// in this very process when Node is new enough; an older Node hands over to the newer one that the
// checkout brings in node_modules/.bin. Keep this file readable for any Node since 14.

import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Source has syntax that the build compiles for older versions. */
const OLDEST = { source: [24, 0], built: [22, 19] };
const CONDITION = '@starloom/source';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, '..', 'src', 'main.ts');
const isCheckout = existsSync(source);
const oldest = isCheckout ? OLDEST.source : OLDEST.built;

if (!isNewEnough(process.versions.node)) {
  const newer = findNewerNode(here);
  if (newer) runIn(newer);
  else refuse();
} else {
  nodeModule.enableCompileCache?.(cacheFolder());
  if (isCheckout && !isConditionSet()) preferSource();
  await import(isCheckout ? '../src/main.ts' : '../bundle/main.js');
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}

/** Of this user alone: a cache of compiled code in a shared folder could be somebody else's. */
function cacheFolder() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'starloom', 'compiled');
}

function isConditionSet() {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) =>
    option.includes(CONDITION),
  );
}

/** The same as `--conditions=@starloom/source`, without a second process. */
function preferSource() {
  nodeModule.registerHooks({
    resolve(specifier, context, next) {
      return next(specifier, { ...context, conditions: [CONDITION, ...context.conditions] });
    },
  });
}

function findNewerNode(folder) {
  const name =
    process.platform === 'win32'
      ? join('node_modules', 'node', 'bin', 'node.exe')
      : join('node_modules', '.bin', 'node');
  const candidate = join(folder, name);
  if (existsSync(candidate) && realpathSync(candidate) !== realpathSync(process.execPath)) {
    return candidate;
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : findNewerNode(parent);
}

function runIn(node) {
  const options = isCheckout ? [`--conditions=${CONDITION}`] : [];
  const script = fileURLToPath(import.meta.url);
  const child = spawn(node, [...options, script, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    process.on(signal, () => {
      // A terminal sends its signals to the whole group: the child already has this one.
      const fromTerminal = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT');
      if (!fromTerminal) child.kill(signal);
    });
  }
  child.on('error', refuse);
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function refuse() {
  const wanted = oldest.join('.');
  process.stderr.write(
    `starloom needs Node ${wanted} or newer${isCheckout ? ' in a checkout' : ''}; this is ${process.versions.node}.\n` +
      `  fix: ${isCheckout ? 'run "npm ci" in the checkout, or ' : ''}install a newer Node (https://nodejs.org)\n`,
  );
  process.exitCode = 1;
}
