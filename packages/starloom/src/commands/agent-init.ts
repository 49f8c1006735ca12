import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { type AgentFileInput, parseAgentConfig } from '@starloom/runtime';
import { unwritable } from '../files/artifacts.ts';
import { failure } from '../reasons.ts';
import type { Terminal } from '../terminal.ts';
import type { InitOptions } from './agent.ts';

const DEFAULT_BASE_URL = 'http://127.0.0.1:11434/v1';
const DEFAULT_PLUGINS: readonly string[] = ['fs', 'time'];

/** Both files or neither, and never over what is there. */
export async function initAgent(terminal: Terminal, folder: string, options: InitOptions) {
  const { name, model, yes, force, json = false } = options;
  const path = resolve(terminal.cwd, folder);
  const files = ['agent.json', 'agent.toml'].map((file) => join(folder, file));
  const there = files.find((file) => existsSync(resolve(terminal.cwd, file)));
  if (there !== undefined && !force) throw failure('exists', { file: there });
  const defaults = {
    name: name ?? basename(path) ?? 'agent',
    purpose: '',
    plugins: DEFAULT_PLUGINS,
    model: model === undefined ? undefined : { ...options, model },
  };
  const mayAsk = !yes && !json && terminal.canAsk;
  const answers = mayAsk ? await ask(terminal, defaults, name === undefined) : defaults;
  const agent = agentFile(answers);
  await parseAgentConfig({ agent: withoutKey(agent), folder: path }, terminal.env);
  const schemas = findAgentSchemas(path);
  const text = JSON.stringify({ ...(schemas && { $schema: schemas.json }), ...agent }, null, 2);
  const texts = [`${text}\n`, agentToml(schemas?.toml)];
  await write(path, files, texts, force === true);
  if (json) terminal.json({ name: agent.name, files });
  else terminal.tell(nextSteps(answers, files, folder));
}

/** The key may be set later: the check of the file does not need it. */
function withoutKey(agent: AgentFileInput): AgentFileInput {
  if (!('api_key' in agent.provider)) return agent;
  const { api_key: reference, ...provider } = agent.provider;
  if (/^(?:env|file):./.test(String(reference))) return { ...agent, provider };
  throw failure('config/api_key');
}

async function ask(terminal: Terminal, defaults: AgentAnswers, asksName: boolean) {
  const question = async (text: string, otherwise: string) => {
    const shown = otherwise === '' ? '' : ` (${otherwise})`;
    const answer = await terminal.ask(`${text}${shown}: `);
    return answer?.trim() || otherwise;
  };
  const name = asksName ? await question('What is it called', defaults.name) : defaults.name;
  const purpose = await question('What is it for', defaults.purpose);
  const plugins = await question('What may it use', defaults.plugins.join(', '));
  const model = defaults.model ?? (await askModel(question));
  const names = plugins.split(/[\s,]+/).filter((word) => word !== '');
  return { name, purpose, plugins: names, model };
}

async function askModel(question: (text: string, otherwise: string) => Promise<string>) {
  const model = await question('Which model, such as llama3.2 (empty: a script, no model)', '');
  if (model === '') return undefined;
  const where = await question(
    'Where: an OpenAI-compatible URL, or an AI SDK package',
    DEFAULT_BASE_URL,
  );
  const key = await question('Its key, as env:NAME or file:PATH (empty: none)', '');
  const place = /^https?:/.test(where) ? { baseUrl: where } : { package: where };
  return { model, ...place, ...(key !== '' && { apiKey: key }) };
}

async function write(
  folder: string,
  files: readonly string[],
  texts: readonly string[],
  overwrite: boolean,
): Promise<void> {
  const flag = overwrite ? 'w' : 'wx';
  try {
    await mkdir(folder, { recursive: true });
    for (const [index, file] of files.entries()) {
      await writeFile(join(folder, basename(file)), texts[index] ?? '', { flag });
    }
  } catch (cause) {
    throw unwritable(folder, cause);
  }
}

function nextSteps({ name, model }: AgentAnswers, files: readonly string[], folder: string) {
  const path = folder === '.' ? '' : ` ${folder}`;
  const option = folder === '.' ? '' : ` --agent ${folder}`;
  return [
    `${name} is ready: ${files.join(', ')}`,
    '',
    'Try next',
    `  starloom agent chat${path}`,
    `  starloom agent exec "/help"${option}`,
    `  starloom agent run${path} --mcp http --port 8765`,
    `  starloom agents add${path || ' .'}`,
    ...(model?.package === undefined ? [] : ['', `It needs: npm install ${model.package}`]),
    ...(model ? [] : SCRIPT_HINT),
  ].join('\n');
}

const SCRIPT_HINT = [
  '',
  'It follows a script until "provider" in agent.json names a model, such as',
  `  {"kind": "openai-compatible", "base_url": "${DEFAULT_BASE_URL}", "model": "llama3.2"}`,
];

interface AgentAnswers {
  readonly name: string;
  readonly purpose: string;
  readonly plugins: readonly string[];
  /** Absent: the agent follows a script. */
  readonly model?: ModelAnswers | undefined;
}

type ModelAnswers = Pick<InitOptions, 'baseUrl' | 'package' | 'apiKey'> & { model: string };

const SCRIPTED =
  'I follow a script until agent.json names a model. My tools are real: /help lists them.';

/** Without a model the agent runs without a key: a script uses what the plugins bring. */
function agentFile({ name, purpose, plugins, model }: AgentAnswers): AgentFileInput {
  const hasFiles = plugins.includes('fs');
  return {
    name,
    version: '0.1.0',
    ...(purpose !== '' && { description: purpose }),
    provider: model ? providerOf(model) : scriptOf(hasFiles),
    system_prompt: `You are ${name}.${purpose === '' ? '' : ` You are here for this: ${purpose}.`} Be brief, and use your tools instead of guessing.`,
    plugins: plugins.map((plugin) =>
      plugin === 'fs' ? { name: plugin, config: { roots: ['.'] } } : { name: plugin },
    ),
    expose: { tools: ['ask', ...(hasFiles ? ['fs:read_file', 'fs:list'] : [])] },
    limits: { steps: 50, tokens: 100_000, seconds: 600 },
  };
}

function scriptOf(hasFiles: boolean): AgentFileInput['provider'] {
  const look = { type: 'tool_call', toolCall: { name: 'fs:list', args: {} } } as const;
  const script = hasFiles ? [['Let me look around. ', look], SCRIPTED] : [SCRIPTED];
  return { kind: 'scripted', cycle: true, script };
}

function providerOf({ model, package: name, baseUrl, apiKey }: ModelAnswers) {
  const key = apiKey !== undefined && { api_key: apiKey };
  if (name !== undefined) {
    const url = baseUrl !== undefined && { base_url: baseUrl };
    return { kind: 'ai-sdk' as const, package: name, model, ...url, ...key };
  }
  const base_url = baseUrl ?? DEFAULT_BASE_URL;
  return { kind: 'openai-compatible' as const, base_url, model, ...key };
}

function agentToml(schema: string | undefined): string {
  const heading = schema === undefined ? '' : `#:schema ${schema}\n`;
  return `${heading}# MCP servers whose tools the agent uses, as <name>:<tool>.
# allowed_tools: a list, those ("*": all), and their descriptions count as read; [], none.
#
# [[mcp.servers]]
# name = "docs"
# command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
# allowed_tools = ["read_file"]

# By tool: named (default), allow, ask, deny. docs/trust.md has the decision table.
# [security.tools]
# "docs:write_file" = "ask"
`;
}

const SCHEMAS = join('node_modules', '@starloom', 'runtime', 'schemas');

/** Where an editor finds the schemas of the two files, as paths from their folder, if it does. */
function findAgentSchemas(folder: string) {
  const toReference = (file: string) => {
    const path = relative(folder, file).split(sep).join('/');
    return path.startsWith('.') ? path : `./${path}`;
  };
  for (let above = folder; ; above = dirname(above)) {
    const found = join(above, SCHEMAS);
    if (existsSync(found)) {
      return {
        json: toReference(join(found, 'agent.schema.json')),
        toml: toReference(join(found, 'agent-toml.schema.json')),
      };
    }
    if (above === dirname(above)) return undefined;
  }
}
