import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type {} from './describe-with-engine.ts';

/** The last of the reporters: which suites could not run for want of an engine, and what to do. */
export default class MissingEnginesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const lines = tests.flatMap(describeMissing);
    if (lines.length === 0) return;
    process.stdout.write(`Not run, because an engine is missing:\n${lines.join('')}\n`);
  }
}

function describeMissing(test: TestCase): string[] {
  const { missingEngine } = test.meta();
  if (missingEngine === undefined) return [];
  const { engine, reason, howToInstall } = missingEngine;
  const suite = test.fullName.replace(/ > could not run$/, '');
  const file = relative(process.cwd(), test.module.moduleId);
  return [`  ${file} > ${suite}\n    ${engine}: ${howToInstall} (${reason.split('\n')[0]})\n`];
}
