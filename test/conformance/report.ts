// What the suite found, for people as a table and for machines as the object that every measuring
// command prints.

import { isFailed, type Verdict } from './baseline.ts';
import { REVISIONS, type Revision, type ScenarioResult } from './suite.ts';

export interface Runs {
  readonly direct: readonly ScenarioResult[];
  readonly gateway: readonly ScenarioResult[];
}

export function toTable({ direct, gateway }: Runs): string {
  const rows = gateway.map((through) => {
    const { revision, scenario, scored } = through;
    const alone = direct.find((one) => one.revision === revision && one.scenario === scenario);
    const note = scored ? '' : 'not scored';
    return [revision, scenario, alone ? cell(alone) : '', cell(through), note];
  });
  const table = [['revision', 'scenario', 'direct', 'gateway', ''], ...rows];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  const lines = table.map((row) => row.map((text, at) => text.padEnd(widths[at] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

export function toFigures(runs: Runs, { unexpected, stale }: Verdict) {
  const passed = runs.gateway.filter(isPassed).length;
  const unexpectedScenarios = new Set(unexpected.map((line) => line.split(':')[0])).size;
  const failed = unexpectedScenarios + stale.length;
  const figures = Object.fromEntries(
    REVISIONS.flatMap((revision) => [
      [`scenarios.${revision}`, of(runs.gateway, revision).length],
      [`scored.${revision}`, scoredOf(runs.gateway, revision).length],
      [`scored_passed.${revision}`, scoredOf(runs.gateway, revision).filter(isPassed).length],
      [`checks_passed.${revision}`, succeeded(of(runs.gateway, revision))],
      [`direct_checks_passed.${revision}`, succeeded(of(runs.direct, revision))],
    ]),
  );
  const ratios = Object.fromEntries(
    REVISIONS.map((revision) => [
      `gateway_over_direct.checks_passed.${revision}`,
      succeeded(of(runs.gateway, revision)) / succeeded(of(runs.direct, revision)),
    ]),
  );
  const skipped = runs.gateway.length - passed - unexpectedScenarios;
  return { name: 'conformance', passed, failed, skipped, figures, ratios };
}

function cell({ checks }: ScenarioResult): string {
  const succeededChecks = checks.filter(({ status }) => status === 'SUCCESS').length;
  const failedChecks = checks.filter(isFailed).length;
  if (failedChecks > 0) return `✗ ${succeededChecks}/${succeededChecks + failedChecks}`;
  return succeededChecks > 0 ? `✓ ${succeededChecks}` : '– ';
}

function isPassed({ checks }: ScenarioResult): boolean {
  return !checks.some(isFailed);
}

function of(results: readonly ScenarioResult[], revision: Revision): ScenarioResult[] {
  return results.filter((result) => result.revision === revision);
}

function scoredOf(results: readonly ScenarioResult[], revision: Revision): ScenarioResult[] {
  return of(results, revision).filter(({ scored }) => scored);
}

function succeeded(results: readonly ScenarioResult[]): number {
  return results.flatMap(({ checks }) => checks).filter(({ status }) => status === 'SUCCESS')
    .length;
}
