import { existsSync } from 'node:fs';
import { basename, extname, relative, resolve } from 'node:path';
import {
  configError,
  type LoadedConfig,
  loadConfig,
  type Origin,
  type Problem,
  pickByOrigin,
  problemsOf,
  toConfigJsonSchema,
  toReferences,
} from '@starloom/config';
import { toAnnotatedYaml } from '@starloom/config/annotated-yaml';
import {
  agentsFileSchema,
  FabricError,
  lookAlikes,
  type Manifest,
  RESERVED_AGENT_IDS,
} from '@starloom/core';
import {
  type GatewayConfig,
  gatewayConfigSchema,
  loadGatewayConfig,
} from '@starloom/gateway/config';
import { assertOpenable, endpointOptions } from '@starloom/registry';
import { agentFileSchema, agentTomlSchema } from '@starloom/runtime/config';
import { Argument, type Command } from 'commander';
import { action, type GlobalOptions } from '../command-line.ts';
import { count, EXIT_BAD_CONFIGURATION, formatProblem } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';

export function define(config: Command, terminal: Terminal): void {
  config
    .command('validate')
    .description('check configuration files; exits 78 when one is bad')
    .argument('[file...]', 'default: the gateway file and the agents.yaml it names')
    .option('--no-secrets', 'do not look up env: and file: references')
    .action(action(terminal, () => validateConfig));

  config
    .command('show')
    .description('print what the gateway file sets, secrets as references')
    .option('--effective', 'with variables and defaults, and where each value comes from')
    .action(action(terminal, () => showConfig));

  config
    .command('schema')
    .description('print the JSON Schema of a file, for editors')
    .addArgument(
      new Argument('[file]', 'which file').choices(Object.keys(CONFIG_FILES)).default('starloom'),
    )
    .action((kind: ConfigKind) => {
      terminal.print(JSON.stringify(jsonSchemaFor(kind), null, 2));
    });
}

interface FileReport {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

type Options = GlobalOptions & { readonly secrets: boolean };

async function validateConfig(terminal: Terminal, files: readonly string[], options: Options) {
  const checks = files.map((file) => check(file, load(terminal, file, options)));
  const reports =
    files.length > 0
      ? (await Promise.all(checks)).map(({ report }) => report)
      : await checkGatewayAndAgents(terminal, options);
  const ok = reports.every((report) => report.ok);
  if (options.json) terminal.print(JSON.stringify({ ok, files: reports }));
  else for (const report of reports) show(terminal, report);
  if (!ok) terminal.exitCode = EXIT_BAD_CONFIGURATION;
}

function load(terminal: Terminal, file: string, options: Options): Promise<LoadedConfig<unknown>> {
  const kind = configKindOf(file);
  if (kind === 'starloom') return loadGateway(terminal, file, options);
  if (kind === 'agents') return loadAgents(terminal, file);
  const { env, cwd } = terminal;
  const { schema } = CONFIG_FILES[kind];
  const missingFix = 'write one with "starloom agent init", or name another file';
  return loadConfig({ path: file, schema, env, cwd, missingFix, resolveSecrets: options.secrets });
}

async function checkGatewayAndAgents(terminal: Terminal, options: Options): Promise<FileReport[]> {
  const name = options.config || terminal.env.STARLOOM_CONFIG || 'starloom.yaml';
  const gateway = await check(name, loadGateway(terminal, options.config, options));
  const agents = gateway.loaded && agentsFileOf(gateway.loaded, terminal.cwd);
  if (agents === undefined) return [gateway.report];
  return [gateway.report, (await check(agents, loadAgents(terminal, agents))).report];
}

/** The file with the agents; `undefined` when there is none and no setting names one. */
function agentsFileOf({ value, origins, folder }: LoadedConfig<GatewayConfig>, cwd: string) {
  if (value.registry.kind !== 'yaml') return undefined;
  const path = resolve(folder, value.registry.path);
  if (origins.get('registry.path')?.kind === 'default' && !existsSync(path)) return undefined;
  return relative(cwd, path);
}

/** What the schema takes may still be something that the gateway cannot open. */
async function loadGateway(terminal: Terminal, path: string | undefined, { secrets }: Options) {
  const { env, cwd } = terminal;
  const loaded = await loadGatewayConfig({ path, env, cwd, resolveSecrets: secrets });
  const { value, folder, origins, file = 'built-in defaults' } = loaded;
  await assertOpenable(value.registry, folder).catch((thrown: unknown) => {
    const { message, details } = FabricError.from(thrown);
    const key = `registry.${value.registry.kind === 'package' ? 'package' : 'kind'}`;
    const { kind, ...place } = { kind: 'default', ...origins.get(key) };
    const at = kind === 'file' ? place : {};
    throw configError([{ file, ...at, key, message, fix: String(details.fix) }]);
  });
  return loaded;
}

async function loadAgents({ env, cwd }: Terminal, path: string) {
  const { OPTION_SCHEMAS } = await import('../option-schemas.ts');
  const parts = endpointOptions(OPTION_SCHEMAS);
  const { schema } = CONFIG_FILES.agents;
  const missingFix = 'create it, or correct registry.path in starloom.yaml';
  const loaded = await loadConfig({ path, schema, env, cwd, missingFix, parts });
  return { ...loaded, warnings: [...loaded.warnings, ...lookAlikeAgents(path, loaded.value)] };
}

function lookAlikeAgents(file: string, agents: readonly Manifest[]): Problem[] {
  const ids = agents.map(({ agent_id }) => agent_id);
  return lookAlikes([...ids, ...RESERVED_AGENT_IDS]).map((names) => {
    const message = `these names look alike: ${names.join(', ')}`;
    return { file, key: 'agent_id', message, fix: 'give one of them another name' };
  });
}

async function check<T>(
  name: string,
  loading: Promise<LoadedConfig<T>>,
): Promise<{ report: FileReport; loaded?: LoadedConfig<T> }> {
  try {
    const loaded = await loading;
    const { file = 'built-in defaults', warnings } = loaded;
    return { report: { file, ok: true, problems: [], warnings }, loaded };
  } catch (error) {
    const problems = problemsOf(error);
    if (problems === undefined) throw error;
    return { report: { file: name, ok: false, problems, warnings: [] } };
  }
}

function show(terminal: Terminal, { file, ok, problems, warnings }: FileReport): void {
  terminal.print(`${file}: ${ok ? 'ok' : count(problems.length, 'problem')}`);
  for (const problem of problems) terminal.tell(formatProblem(problem));
  for (const warning of warnings) terminal.tell(`  warning:\n${formatProblem(warning)}`);
}

async function showConfig(
  terminal: Terminal,
  options: GlobalOptions & { readonly effective?: boolean },
): Promise<void> {
  const { env, cwd } = terminal;
  const loaded = await loadGatewayConfig({ path: options.config, env, cwd, resolveSecrets: false });
  const { file = null, origins, warnings } = loaded;
  for (const warning of warnings) terminal.tell(formatProblem(warning));

  if (options.effective) {
    terminal.print(
      options.json
        ? toJson({ file, value: loaded.value, origins: Object.fromEntries(origins) })
        : toAnnotatedYaml(loaded.value, origins),
    );
    return;
  }
  const value = pickByOrigin(loaded.value, origins, (origin: Origin) => origin.kind === 'file');
  if (file === null) terminal.tell('no starloom.yaml here: built-in defaults (see --effective)');
  terminal.print(options.json ? toJson({ file, value }) : toAnnotatedYaml(value));
}

function toJson(content: Record<string, unknown>): string {
  return JSON.stringify(toReferences(content), null, 2);
}

/** The files that people write; one row adds a file to `validate`, `schema` and the JSON Schemas. */
const CONFIG_FILES = {
  starloom: { title: 'starloom.yaml: the gateway', schema: gatewayConfigSchema },
  agents: { title: 'agents.yaml: the agents of a gateway', schema: agentsFileSchema },
  agent: { title: 'agent.json: an agent', schema: agentFileSchema },
  'agent-toml': { title: 'agent.toml: what an agent uses and trusts', schema: agentTomlSchema },
} as const;

type ConfigKind = keyof typeof CONFIG_FILES;

export function jsonSchemaFor(kind: ConfigKind): Record<string, unknown> {
  const { schema, title } = CONFIG_FILES[kind];
  return toConfigJsonSchema(schema, { name: kind, title });
}

/** By its name: `agents.yaml`, `my-agents.json`, `agent.json`; anything else is a gateway's. */
function configKindOf(file: string): ConfigKind {
  const name = basename(file);
  if (extname(name).toLowerCase() === '.toml') return 'agent-toml';
  if (/\bagents\b/i.test(name)) return 'agents';
  return /\bagent\b/i.test(name) ? 'agent' : 'starloom';
}
