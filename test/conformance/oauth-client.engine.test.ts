import { fileURLToPath } from 'node:url';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { fileOfPackage } from '../support/installed-package.ts';
import { SUITE } from './suite.ts';

const CLIENT = fileURLToPath(new URL('oauth-client.ts', import.meta.url));
const REVISION = '2026-07-28';

/** What the client does not do, and why. */
const NOT_SUPPORTED = {
  '2025-03-26-oauth-endpoint-fallback': 'guesses endpoints; left out of the specification since',
  'client-credentials-jwt': 'extension: signed assertions in place of a client secret',
  dpop: 'extension: tokens bound to a key',
  'dpop-nonce': 'extension: tokens bound to a key',
  'enterprise-managed-authorization': 'extension: exchange of an identity assertion',
  'wif-jwt-bearer': 'extension: workload identity',
};

const SCENARIOS = [
  '2025-03-26-oauth-metadata-backcompat',
  'authorization-server-migration',
  'basic-cimd',
  'client-credentials-basic',
  'iss-normalized',
  'iss-not-advertised',
  'iss-supported',
  'iss-supported-missing',
  'iss-unexpected',
  'iss-wrong-issuer',
  'metadata-default',
  'metadata-issuer-mismatch',
  'metadata-var1',
  'metadata-var2',
  'metadata-var3',
  'offline-access-not-supported',
  'offline-access-scope',
  'pre-registration',
  'resource-mismatch',
  'scope-from-scopes-supported',
  'scope-from-www-authenticate',
  'scope-omitted-when-undefined',
  'scope-retry-limit',
  'scope-step-up',
  'token-endpoint-auth-basic',
  'token-endpoint-auth-none',
  'token-endpoint-auth-post',
];

function runSuite(args: readonly string[]) {
  const script = fileOfPackage(SUITE, 'dist/index.js');
  const limits = { maxLineBytes: 16_777_216 };
  return runProgram({ command: process.execPath, args: [script, ...args], limits });
}

describe('the official conformance suite, against our MCP client', () => {
  it.each(SCENARIOS)('passes auth/%s', async (name) => {
    await using output = await temporaryFolder();
    const command = `${process.execPath} --conditions=@starloom/source ${CLIENT}`;
    const scenario = ['--scenario', `auth/${name}`, '--output-dir', output.path];
    const isOld = name.startsWith('2025-03-26');
    const version = isOld ? [] : ['--spec-version', REVISION];
    const isExtension = name.startsWith('client-credentials');
    const which = isExtension ? scenario : [...scenario, ...version];
    const { code, stdout, stderr } = await runSuite(['client', '--command', command, ...which]);
    expect(code, `${stdout}\n${stderr}`.slice(-3_000)).toBe(0);
    expect(stderr).toContain('OVERALL: PASSED');
  });

  it('is known with every one of its authorization scenarios', async () => {
    const { stdout } = await runSuite(['list', '--client']);
    const all = Array.from(stdout.matchAll(/^ +- auth\/(\S+)/gm), ([, name]) => name);
    expect(all.sort()).toEqual([...SCENARIOS, ...Object.keys(NOT_SUPPORTED)].sort());
  });
});
