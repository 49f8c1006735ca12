import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type LoadedConfig, loadConfig } from '@starloom/config';
import { agentIdSchema, capabilityNameSchema, type Registry, silentLog } from '@starloom/core';
import { findPrincipal, type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import {
  REALM_PREFIX,
  readSharedRules,
  replaceSharedRules,
  type SharedPolicy,
  sharedPolicySchema,
  toRealmPolicy,
} from '@starloom/gateway/shared-rules';
import { Authoriser, type Decision, type PolicyAgent, type Principal } from '@starloom/identity';
import {
  compileExpression,
  EFFECTS,
  fromGivenAgent,
  fromGivenCall,
  fromGivenPrincipal,
  givenAgentSchema,
  givenCallFields,
  givenPrincipalSchema,
  Policy,
} from '@starloom/identity/policy';
import { openRegistry } from '@starloom/registry';
import type { Command } from 'commander';
import { z } from 'zod';
import { action, type GlobalOptions, userName } from '../command-line.ts';
import { inRealm } from '../realm.ts';
import { failure } from '../reasons.ts';
import { count, toUsageError } from '../report-error.ts';
import { makeStateFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { line, table } from '../terminal-text.ts';
import { reportRecorded } from './policy-recorded.ts';

interface PolicyTestOptions extends GlobalOptions {
  readonly fixtures?: string;
  readonly recorded?: true;
}

const FIXTURES = 'policy-tests.yaml';
const FIXTURES_HELP = `expected decisions (else ${FIXTURES} beside the gateway file)`;

export function define(policy: Command, terminal: Terminal): void {
  policy
    .command('check')
    .description('check the rules and show them in their order')
    .action(action(terminal, () => checkPolicy));
  policy
    .command('test')
    .description('compare decisions with expected ones; exits 1 if one differs')
    .option('--fixtures <file>', FIXTURES_HELP)
    .option('--recorded', 'show which calls of the audit log would be decided differently now')
    .action(action(terminal, () => testPolicy));
  policy
    .command('share')
    .argument('[file]', 'rules, and default')
    .description('replace the rules that all gateways of the realm share')
    .option('--clear', 'take them away')
    .action(action(terminal, () => sharePolicy));
}

async function checkPolicy(terminal: Terminal, { config, json }: GlobalOptions) {
  const { value, file } = await load(terminal, config);
  const { rules, ...settings } = value.policy;
  const shared = await sharedOf(terminal, value);
  const ofRealm = shared?.rules.map((rule) => ({ ...rule, name: `${REALM_PREFIX}${rule.name}` }));
  const shown = [...(ofRealm ?? []), ...rules].map((rule) => ({ ...rule, ...needsOf(rule.when) }));
  if (json) {
    const realm = shared && { realm_default: shared.default };
    return terminal.json({ ok: true, ...settings, ...realm, rules: shown });
  }
  const rows = shown.map(({ name, effect, needs, when }) => [name, effect, needs, when]);
  if (rows.length > 0) {
    terminal.print(table(['RULE', 'EFFECT', 'NEEDS', 'WHEN'], rows, terminal.columns));
  }
  const otherwise = `otherwise ${settings.default}, untrusted origins ${settings.untrusted}`;
  terminal.tell(`${file ?? 'no gateway file'}: ${count(rules.length, 'rule')}, ${otherwise}`);
  if (!shared) return;
  const number = count(shared.rules.length, 'rule');
  terminal.tell(
    `realm: ${number}, otherwise ${shared.default}; the stricter of both decisions holds`,
  );
}

/** `policy-tests.yaml`: calls, and what the rules are expected to decide on them. */
const fixturesSchema = z.array(
  z.strictObject({
    name: z.string().min(1).describe('What is expected, as a sentence'),
    caller: z
      .union([z.string(), givenPrincipalSchema])
      .describe('A principal of auth.psk, or its facts'),
    agent: z
      .union([agentIdSchema, givenAgentSchema])
      .describe('An agent of the registry, or its facts'),
    capability: capabilityNameSchema,
    ...givenCallFields,
    expect: z.strictObject({
      effect: z.enum(EFFECTS),
      rule: z.string().optional().describe('Which rule decides; default, min_tier and scopes too'),
      visible: z.boolean().optional().describe('Whether the caller sees the capability at all'),
    }),
  }),
);

type Fixture = z.output<typeof fixturesSchema>[number];

/** `local` stands for the key that `starloom up` makes. */
function toPrincipal({ caller, name }: Fixture, { auth }: GatewayConfig): Principal {
  if (typeof caller === 'string') {
    const known = findPrincipal(auth, caller);
    if (known) return known;
    throw failure('config/caller', { test: name, caller });
  }
  return fromGivenPrincipal(caller);
}

async function testPolicy(terminal: Terminal, options: PolicyTestOptions): Promise<void> {
  const loaded = await load(terminal, options.config);
  const agents = openAgents(terminal, loaded);
  try {
    if (options.recorded) {
      const authoriser = await authoriserOf(terminal, loaded.value);
      await reportRecorded(terminal, loaded.value, authoriser, agents.get, options);
    } else await testFixtures(terminal, loaded, agents.get, options);
  } finally {
    await agents.close();
  }
}

type FindAgent = (agentId: string) => Promise<PolicyAgent | undefined>;

interface Result {
  readonly name: string;
  readonly ok: boolean;
  readonly expected: Fixture['expect'];
  readonly got: Decision & { readonly visible: boolean };
}

async function testFixtures(
  terminal: Terminal,
  { value: config, folder }: LoadedConfig<GatewayConfig>,
  find: FindAgent,
  { fixtures, json }: PolicyTestOptions,
): Promise<void> {
  const { env, cwd } = terminal;
  const path = fixtures ?? join(folder, FIXTURES);
  if (fixtures === undefined && !existsSync(path)) {
    throw toUsageError(`there is no ${FIXTURES}`, 'pass --fixtures <file> or --recorded');
  }
  const missingFix = 'name a file with --fixtures';
  const read = await loadConfig({ path, schema: fixturesSchema, env, cwd, missingFix });
  const authoriser = await authoriserOf(terminal, config);
  const results: Result[] = [];
  for (const fixture of read.value) results.push(await run(fixture, config, authoriser, find));
  const failed = results.filter(({ ok }) => !ok).length;
  if (failed > 0) terminal.exitCode = 1;
  if (json) {
    const passed = results.length - failed;
    return terminal.json({ ok: failed === 0, passed, failed, results });
  }
  for (const result of results) show(terminal, result);
  terminal.print(`${count(results.length, 'test')}, ${failed} failed`);
}

async function run(
  fixture: Fixture,
  config: GatewayConfig,
  authoriser: Authoriser,
  find: FindAgent,
): Promise<Result> {
  const { name, agent, capability, expect: expected } = fixture;
  const principal = toPrincipal(fixture, config);
  const target = typeof agent === 'string' ? await find(agent) : fromGivenAgent(agent);
  if (!target) throw failure('config/agent', { test: name, agent });
  const call = fromGivenCall(fixture, principal, Date.now());
  const got = authoriser.explain(principal, target, capability, call);
  const isVisible = expected.visible === undefined || expected.visible === got.visible;
  const isRule = expected.rule === undefined || expected.rule === got.rule;
  return { name, ok: expected.effect === got.effect && isRule && isVisible, expected, got };
}

function show(terminal: Terminal, { name, ok, expected, got }: Result): void {
  terminal.print(`${ok ? 'ok  ' : 'FAIL'}  ${name}`);
  if (ok) return;
  terminal.print(`        expected  ${toText(expected)}`);
  terminal.print(`        got       ${toText({ rule: 'no rule', ...got })}`);
}

function toText({ effect, rule, visible }: Fixture['expect']): string {
  const by = rule === undefined ? '' : ` by ${rule}`;
  const seen = visible === undefined ? '' : visible ? ', visible' : ', looks unknown';
  return `${effect}${by}${seen}`;
}

function needsOf(when: string) {
  const compiled = compileExpression(when);
  return { needs: 'needs' in compiled ? compiled.needs : 'agent' };
}

/** What the state folder knows of the rules of the realm. */
async function sharedOf({ env }: Terminal, { realm }: GatewayConfig) {
  return realm.key === undefined ? undefined : await readSharedRules(stateFolder(env));
}

async function authoriserOf(terminal: Terminal, config: GatewayConfig): Promise<Authoriser> {
  const shared = await sharedOf(terminal, config);
  const realm = shared && toRealmPolicy(shared);
  return new Authoriser(new Policy(config.policy), () => realm);
}

/** Only a registry that is not a file needs a secret. */
async function load({ env, cwd }: Terminal, path: string | undefined) {
  const loaded = await loadGatewayConfig({ path, env, cwd, resolveSecrets: false });
  return loaded.value.registry.kind === 'postgres'
    ? await loadGatewayConfig({ path, env, cwd })
    : loaded;
}

/** The registry is opened when the first agent is looked up. */
function openAgents({ env }: Terminal, { value, folder }: LoadedConfig<GatewayConfig>) {
  let opened: Promise<Registry> | undefined;
  const open = async () => {
    const { OPTION_SCHEMAS: optionSchemas } = await import('../option-schemas.ts');
    const { toRegistryConfig } = await import('../registry-config.ts');
    const log = silentLog;
    const config = await toRegistryConfig(value, stateFolder(env), log);
    return await openRegistry(config, { folder, env, log, optionSchemas });
  };
  const get: FindAgent = async (agentId) => {
    opened ??= open();
    return (await opened).get(agentId)?.manifest;
  };
  return { get, close: async () => await (await opened)?.close() };
}

async function sharePolicy(
  terminal: Terminal,
  path: string | undefined,
  options: GlobalOptions & { readonly clear?: true },
) {
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
