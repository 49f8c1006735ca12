import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { fileOfPackage } from '../support/installed-package.ts';
import { SUITE } from './suite.ts';

/** The suite splits its command at spaces, which the folder of a checkout may have. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COMMAND = 'node --conditions=@starloom/source test/conformance/oauth-client.ts';
const REVISION = '2026-07-28';

/** Those of extensions belong to no revision. */
const EXTENSIONS = [
  'client-credentials-basic',
  'client-credentials-jwt',
  'dpop',
  'dpop-nonce',
  'enterprise-managed-authorization',
  'wif-jwt-bearer',
];

const OLD = ['2025-03-26-oauth-endpoint-fallback', '2025-03-26-oauth-metadata-backcompat'];

const SCENARIOS = [
  ...EXTENSIONS,
  ...OLD,
  'authorization-server-migration',
  'basic-cimd',
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
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = childEnvironment({ extra: { PATH } });
  return runProgram({ command: 'node', args: [script, ...args], cwd: ROOT, env, limits });
}

describe('the official conformance suite, against our MCP client', () => {
  it.each(SCENARIOS)('passes auth/%s', async (name) => {
    await using output = await temporaryFolder();
    const scenario = ['--scenario', `auth/${name}`, '--output-dir', output.path];
    const hasRevision = !EXTENSIONS.includes(name) && !OLD.includes(name);
    const version = hasRevision ? ['--spec-version', REVISION] : [];
    const args = ['client', '--command', COMMAND, ...scenario, ...version];
    const { code, stdout, stderr } = await runSuite(args);
    expect(code, `${stdout}\n${stderr}`.slice(-3_000)).toBe(0);
    expect(stderr).toContain('OVERALL: PASSED');
  });

  it('is known with every one of its authorization scenarios', async () => {
    const { stdout } = await runSuite(['list', '--client']);
    const all = Array.from(stdout.matchAll(/^ +- auth\/(\S+)/gm), ([, name]) => name);
    expect(all.sort()).toEqual([...SCENARIOS].sort());
  });
});
