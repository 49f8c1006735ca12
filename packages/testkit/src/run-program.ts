import { setTimeout as delay } from 'node:timers/promises';
import { type ProcessOptions, spawnProcess } from '@starloom/wire';

/** Variables by which programs reach registries: proxies, certificates, the files of npm. */
export const NETWORK_VARIABLES: readonly string[] = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_DIR', 'SSL_CERT_FILE'],
  ...['npm_config_globalconfig', 'npm_config_userconfig'],
];

export interface ProgramRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, or stops it when it takes too long (then `code` is null). */
export async function runProgram(
  options: ProcessOptions,
  timeoutMs: number = 60_000,
): Promise<ProgramRun> {
  await using child = await spawnProcess(options);
  child.stdin.end();
  const timer = new AbortController();
  const timeout = delay(timeoutMs, undefined, { signal: timer.signal }).then(
    () => child.stop(),
    () => {},
  );
  try {
    const lines: string[] = [];
    for await (const line of child.lines()) lines.push(line);
    const { code } = await child.exited;
    await child.stop();
    return { code, stdout: lines.join('\n'), stderr: child.stderrTail() };
  } finally {
    timer.abort();
    await timeout;
  }
}
