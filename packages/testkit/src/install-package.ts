// Brings a Debian package where that is possible. Test files run side by side, so all installs of
// this machine queue at one lock. Package indexes are fetched only when the package is not to be
// had without. Services of the package are not started: test engines run on ports of their own.

import { existsSync } from 'node:fs';
import { childEnvironment } from '@starloom/wire';
import { NETWORK_VARIABLES, runProgram } from './run-program.ts';

export type Installation =
  | { readonly installed: true }
  | { readonly installed: false; readonly reason: string };

const QUARTER_HOUR = 900_000;
/** A folder can be locked too, so there is no lock file to leave behind. */
const LOCK = '/var/lib/dpkg';

const QUIET = { DEBIAN_FRONTEND: 'noninteractive' };

export async function installPackage(name: string): Promise<Installation> {
  const obstacle = findObstacle();
  if (obstacle !== undefined) return { installed: false, reason: obstacle };
  const { code, stdout, stderr } = await runProgram(
    {
      command: 'flock',
      args: [LOCK, '/bin/sh', '-c', INSTALL, 'sh', name],
      env: childEnvironment({ allow: NETWORK_VARIABLES, extra: QUIET }),
    },
    QUARTER_HOUR,
  );
  if (code === 0) return { installed: true };
  return { installed: false, reason: `apt-get failed:\n${`${stdout}\n${stderr}`.slice(-4_000)}` };
}

/**
 * policy-rc.d is what maintainer scripts ask whether they may start a service. One that is there
 * already stays; ours says no only while this shell runs, so that a forgotten one does no harm.
 */
const INSTALL = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\\nif kill -0 %s 2>/dev/null; then exit 101; fi\\n' $$ > "$policy"
  chmod 755 "$policy"
fi
install() { apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$1"; }
install "$1" || { apt-get update && install "$1"; }
`;

function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may install packages';
  const missing = ['/usr/bin/apt-get', '/usr/bin/flock'].filter((tool) => !existsSync(tool));
  return missing.length === 0 ? undefined : `no ${missing.join(', ')}`;
}
