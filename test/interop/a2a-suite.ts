// The official A2A suite (a2aproject/a2a-tck, branch 1.0-dev). It is on no package index and nothing of
// it stands here: two variables name a ready checkout and an interpreter that has what it needs.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ProgramResult, runProgram, temporaryFolder } from '@starloom/testkit';

export interface SuiteResult {
  readonly code: number | null;
  readonly passed: number;
  readonly failed: readonly string[];
  readonly output: string;
}

const FIVE_MINUTES = 300_000;

/** They check 1.0.0; the specification changed with 1.0.1: status 400, `application/a2a+json`. */
const CONTRADICT = [
  'core_operations/test_error_handling.py::TestRestErrorStructure::test_error_uses_aip193_format',
  'core_operations/test_transport_behavior.py::TestRestFormat::test_response_content_type',
  'grpc/test_status_codes.py::TestGrpcStatusCodes::test_push_not_supported_returns_unimplemented',
  'grpc/test_status_codes.py::TestGrpcStatusCodes::test_version_not_supported_returns_unimplemented',
  'http_json/test_http_status.py::TestHttpJsonStatusCodes::test_content_type_not_supported_returns_415',
  'http_json/test_problem_details.py::TestAIP193ErrorFormat::test_error_content_type',
];

/** The interpreter, where both variables name something that is there. */
export async function findSuite(): Promise<ProgramResult> {
  const { A2A_TCK_DIR: folder, A2A_TCK_PYTHON: python } = process.env;
  const howToInstall =
    'check out a2aproject/a2a-tck at 1.0-dev, install its dependencies, and set A2A_TCK_DIR and A2A_TCK_PYTHON';
  if (!folder || !python) {
    const reason = 'A2A_TCK_DIR and A2A_TCK_PYTHON are not set, and no package index has it';
    return { found: false, reason, howToInstall };
  }
  for (const path of [join(folder, 'run_tck.py'), python]) {
    const isThere = await stat(path).catch(() => undefined);
    if (!isThere) return { found: false, reason: `there is no ${path}`, howToInstall };
  }
  return { found: true, path: python };
}

/** It is sent a type that it does not take, and the suite wants it taken, against the clause that it names. */
export const REFUSES_TYPES = ['jsonrpc', 'http_json'].map(
  (binding) =>
    `core_operations/test_requirements.py::test_must_requirement[CORE-SEND-003-${binding}]`,
);

/** Its mandatory level on one binding, against the agent at a URL. */
export async function runSuite(
  python: string,
  url: string,
  binding: 'jsonrpc' | 'http_json' | 'grpc',
  leftOut: readonly string[] = [],
): Promise<SuiteResult> {
  await using folder = await temporaryFolder();
  const report = join(folder.path, 'junit.xml');
  const { code, stdout, stderr } = await runProgram(
    {
      command: python,
      args: [
        'run_tck.py',
        ...['--sut-host', url, '--level', 'must', '--transport', binding],
        '--',
        ...[...CONTRADICT, ...leftOut].map((test) => `--deselect=tests/compatibility/${test}`),
        `--junitxml=${report}`,
      ],
      cwd: process.env.A2A_TCK_DIR ?? '.',
    },
    FIVE_MINUTES,
  );
  const cases = casesOf(await readFile(report, 'utf8').catch(() => ''));
  const failed = cases.filter(({ body }) => /<(?:failure|error)\b/.test(body));
  const skipped = cases.filter(({ body }) => body.includes('<skipped'));
  return {
    code,
    passed: cases.length - failed.length - skipped.length,
    failed: failed.map(({ name }) => name),
    output: `${stdout}\n${stderr}`.slice(-5_000),
  };
}

function casesOf(report: string) {
  return Array.from(
    report.matchAll(/<testcase\b[^>]*\bname="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g),
    ([, name = '', body = '']) => ({ name, body }),
  );
}
