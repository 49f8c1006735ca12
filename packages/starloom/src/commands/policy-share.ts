// `starloom policy share`: one set of rules for all gateways of the realm.

import { isDeepStrictEqual } from 'node:util';
import { loadConfig } from '@starloom/config';
import {
  replaceSharedRules,
  type SharedPolicy,
  sharedPolicySchema,
} from '@starloom/gateway/shared-rules';
import type { GlobalOptions } from '../command-line.ts';
import { inRealm } from '../realm.ts';
import { count, toUsageError } from '../report-error.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../terminal-text.ts';
import { userName } from './agents-approve.ts';

interface ShareOptions extends GlobalOptions {
  readonly clear?: true;
}

export async function sharePolicy(
  terminal: Terminal,
  path: string | undefined,
  options: ShareOptions,
): Promise<void> {
  const { env, cwd } = terminal;
  if ((path === undefined) === (options.clear === undefined)) {
    throw toUsageError('name a file with rules, or pass --clear', 'starloom policy share <file>');
  }
  const missingFix = 'name a file with "rules" and, if you like, "default"';
  const policy =
    path === undefined
      ? undefined
      : (await loadConfig({ path, schema: sharedPolicySchema, env, cwd, missingFix })).value;
  const by = `command: ${userName()}`;
  const folder = await makeStateFolder(env);
  const before = await inRealm(terminal, options, (realm) =>
    replaceSharedRules(folder, realm, { policy, by, now: Date.now() }),
  );
  const changes = changesOf(before, policy);
  if (options.json) return terminal.json({ ok: true, rules: policy?.rules.length ?? 0, changes });
  for (const { change, rule } of changes) terminal.print(line`${change.padEnd(7)}  ${rule}`);
  const what = policy ? count(policy.rules.length, 'rule') : 'no rules any more';
  terminal.tell(`the realm has ${what}; its gateways follow within two seconds`);
}

interface Change {
  readonly change: 'added' | 'changed' | 'removed';
  readonly rule: string;
}

function changesOf(before: SharedPolicy, after: Partial<SharedPolicy> = {}): Change[] {
  const [old, now] = [toMap(before), toMap(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  return names
    .filter((rule) => !isDeepStrictEqual(old.get(rule), now.get(rule)))
    .map((rule) => ({
      change: old.has(rule) ? (now.has(rule) ? 'changed' : 'removed') : 'added',
      rule,
    }));
}

/** The name of a rule is never `default`. The place of a rule counts, too. */
function toMap({ rules = [], default: otherwise = 'allow' }: Partial<SharedPolicy>) {
  const entries = rules.map((rule, place): [string, object] => [rule.name, { ...rule, place }]);
  return new Map<string, object>([...entries, ['default', { effect: otherwise }]]);
}
