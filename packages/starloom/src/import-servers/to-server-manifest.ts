// One server of another client as a manifest. Whatever cannot be taken over is a problem or a
// warning with its place; nothing is dropped in silence.

import { resolve } from 'node:path';
import { type KeyPath, type Problem, toKey } from '@starloom/config';
import {
  isObject,
  type Manifest,
  type ManifestInput,
  manifestSchema,
  type TrustTier,
  toFields,
} from '@starloom/core';
import {
  type Expanded,
  expandSetting,
  expandText,
  isReference,
  isSecretName,
  secretInText,
} from './expand.ts';
import type { ClientFile, ClientServer } from './plan-import.ts';

export interface ConvertContext {
  readonly client: ClientFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Where the gateway runs a program unless the manifest says otherwise. */
  readonly folder: string;
  readonly tier: TrustTier;
  /** Where the file with a secret of this agent would be. */
  readonly secretFile: (agentId: string, name: string) => string;
}

interface ConvertedServer {
  /** Absent when the client has it turned off, or when there are problems. */
  readonly manifest: Manifest | undefined;
  readonly isOff: boolean;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Secrets that stood in the file as text, by the path of the file that is to hold them. */
  readonly secrets: ReadonlyMap<string, string>;
}

const TRANSPORTS: Readonly<Record<string, 'stdio' | 'http' | 'sse'>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamablehttp: 'http',
  streamable_http: 'http',
  remote: 'http',
  sse: 'sse',
};

/** Fields of clients that mean nothing behind a gateway, each with the reason in a few words. */
const APPROVAL = 'is about approval, which stays with the client';
const TIMEOUT = 'is not taken over; set timeout_ms of a capability';
const TOKEN = 'is not taken over; put a token into headers as env:NAME';
const LEFT_OUT: Readonly<Record<string, string>> = {
  envFile: 'is not read; name its variables in "env"',
  ...{ alwaysAllow: APPROVAL, autoApprove: APPROVAL, trust: APPROVAL },
  default_tools_approval_mode: APPROVAL,
  ...{ timeout: TIMEOUT, tool_timeout_sec: TIMEOUT },
  ...{ startup_timeout_sec: 'is not taken over', startup_timeout_ms: 'is not taken over' },
  ...{ oauth: TOKEN, auth: TOKEN },
};

const USE_A_REFERENCE = 'pass it in env or headers, as env:NAME';

const SILENT = new Set(['source', '$schema', 'gallery', 'type', 'transport', 'name']);

export class ServerConversion {
  readonly #server: ClientServer;
  readonly #agentId: string;
  readonly #context: ConvertContext;
  readonly #problems: Problem[] = [];
  readonly #warnings: Problem[] = [];
  readonly #secrets = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(server: ClientServer, agentId: string, context: ConvertContext) {
    this.#server = server;
    this.#agentId = agentId;
    this.#context = context;
  }

  run(): ConvertedServer {
    const isOff = this.#take('disabled') === true || this.#take('enabled') === false;
    const input: ManifestInput | undefined = isOff ? undefined : this.#manifest();
    if (!isOff) this.#warnOfRest();
    const isWhole = input !== undefined && this.#problems.length === 0;
    const parsed = isWhole ? manifestSchema.safeParse(input) : undefined;
    for (const { path, message } of parsed?.error?.issues ?? []) {
      this.#refuse([], `${path.join('.')}: ${message}`, 'correct this server');
    }
    return {
      manifest: parsed?.data,
      isOff,
      problems: this.#problems,
      warnings: this.#warnings,
      secrets: this.#secrets,
    };
  }

  #manifest(): ManifestInput | undefined {
    const endpoint = this.#endpoint();
    if (endpoint === undefined) return undefined;
    const description = this.#take('description');
    const include = this.#names('enabled_tools') ?? this.#names('includeTools');
    const exclude = this.#names('disabled_tools') ?? this.#names('excludeTools');
    const tools = { ...(include && { include }), ...(exclude && { exclude }) };
    return {
      agent_id: this.#agentId,
      ...(typeof description === 'string' && { description }),
      endpoint,
      ...(Object.keys(tools).length > 0 && { tools }),
      trust_tier: this.#context.tier,
    } as ManifestInput;
  }

  #endpoint(): ManifestInput['endpoint'] | undefined {
    const { fields } = this.#server;
    const type = String(fields.type ?? fields.transport ?? '').toLowerCase();
    const kind = type === '' ? undefined : TRANSPORTS[type];
    if (type !== '' && kind === undefined) {
      return this.#refuse(['type'], `the transport "${type}" is not known`, 'use stdio or http');
    }
    const url = ['url', 'serverUrl', 'httpUrl'].find((name) => fields[name] !== undefined);
    if (url !== undefined && kind !== 'stdio') return this.#http(url, kind === 'sse');
    if (fields.command !== undefined) return this.#stdio();
    return this.#refuse([], 'has neither "command" nor "url"', 'write one of them');
  }

  #http(field: string, isSse: boolean): ManifestInput['endpoint'] {
    if (isSse) {
      const message = 'the SSE transport is out of date; the server is asked over HTTP';
      this.#warn(['type'], message, 'use the HTTP address of the server');
    }
    const uri = this.#text([field], this.#take(field)) ?? '';
    const headers = {
      ...this.#settings('headers'),
      ...this.#settings('http_headers'),
    };
    const variables = Object.entries(toFields(this.#take('env_http_headers')));
    for (const [name, variable] of variables) headers[name] = `env:${variable}`;
    const token = this.#take('bearer_token_env_var');
    if (typeof token === 'string') headers.Authorization = `Bearer env:${token}`;
    return { transport: 'http', uri, ...(Object.keys(headers).length > 0 && { headers }) };
  }

  #stdio(): ManifestInput['endpoint'] {
    const own = this.#take('command');
    // Zed wrote the program, its arguments and its environment as one map.
    const nested = isObject(own) ? own : undefined;
    const command = nested
      ? this.#text(['command', 'path'], nested.path)
      : this.#text(['command'], own);
    const args = [
      ...this.#texts(['command', 'args'], nested?.args),
      ...this.#texts(['args'], this.#take('args')),
    ];
    const env = { ...this.#settingsOf(['command', 'env'], nested?.env), ...this.#settings('env') };
    for (const name of this.#names('env_vars') ?? []) env[name] ??= `env:${name}`;
    const cwd = this.#cwd();
    return {
      transport: 'stdio',
      command: command ?? '',
      ...(args.length > 0 && { args }),
      ...(Object.keys(env).length > 0 && { env }),
      ...(cwd !== undefined && { options: { cwd } }),
    };
  }

  /** Servers of a project run in its folder. */
  #cwd(): string | undefined {
    const { client, cwd, folder } = this.#context;
    const base = client.projectFolder;
    const given = this.#take('cwd');
    const own = given === undefined ? undefined : this.#text(['cwd'], given);
    if (own !== undefined) return resolve(base ?? cwd, own);
    return base === undefined || resolve(base) === resolve(folder) ? undefined : resolve(base);
  }

  #settings(field: string): Record<string, string> {
    return this.#settingsOf([field], this.#take(field));
  }

  #settingsOf(path: KeyPath, value: unknown): Record<string, string> {
    if (value === undefined || value === null) return {};
    if (!isObject(value)) {
      this.#refuse(path, 'is no map of texts', 'write names and texts');
      return {};
    }
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, setting]) => {
        const text = this.#setting([...path, name], name, setting);
        return text === undefined ? [] : [[name, text]];
      }),
    );
  }

  #setting(path: KeyPath, name: string, value: unknown): string | undefined {
    const given = this.#scalar(path, value);
    if (given === undefined) return undefined;
    const text = this.#orRefuse(path, expandSetting(given, this.#variables()));
    const isPlain = text === given && !isReference(given);
    if (text === undefined || !isPlain || given === '' || !isSecretName(name)) return text;
    const file = this.#context.secretFile(this.#agentId, name);
    this.#secrets.set(file, given);
    return `file:${file}`;
  }

  #names(field: string): string[] | undefined {
    const value = this.#take(field);
    return value === undefined ? undefined : this.#texts([field], value);
  }

  #texts(path: KeyPath, value: unknown): string[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) {
      this.#refuse(path, 'is no list of texts', 'write ["first", "second"]');
      return [];
    }
    return value.flatMap((each, index) => this.#text([...path, index], each) ?? []);
  }

  #text(path: KeyPath, value: unknown): string | undefined {
    const given = this.#scalar(path, value);
    if (given === undefined) return undefined;
    const secret = secretInText(given);
    if (secret !== undefined) {
      this.#warn(path, `${secret} will be plain text in the file of agents`, USE_A_REFERENCE);
    }
    return this.#orRefuse(path, expandText(given, this.#variables()));
  }

  #scalar(path: KeyPath, value: unknown): string | undefined {
    if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
    return this.#refuse(path, 'is no text', 'write a text');
  }

  #orRefuse(path: KeyPath, expanded: Expanded): string | undefined {
    return expanded.ok ? expanded.text : this.#refuse(path, expanded.message, expanded.fix);
  }

  #variables() {
    return { env: this.#context.env, projectFolder: this.#context.client.projectFolder };
  }

  #take(field: string): unknown {
    this.#used.add(field);
    return this.#server.fields[field];
  }

  #warnOfRest(): void {
    for (const field of Object.keys(this.#server.fields)) {
      if (this.#used.has(field) || SILENT.has(field)) continue;
      const message = LEFT_OUT[field] ?? 'unknown field, left out';
      this.#warn([field], message, 'remove it, or ignore this');
    }
  }

  #refuse(path: KeyPath, message: string, fix: string): undefined {
    this.#problems.push(this.#problem(path, message, fix));
  }

  #warn(path: KeyPath, message: string, fix: string): void {
    this.#warnings.push(this.#problem(path, message, fix));
  }

  #problem(path: KeyPath, message: string, fix: string): Problem {
    const whole = [...this.#server.path, ...path];
    return { ...this.#context.client.placeOf(whole), key: toKey(whole), message, fix };
  }
}
