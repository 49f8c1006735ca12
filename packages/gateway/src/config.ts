// The configuration of the gateway: the schema of `starloom.yaml` and the way it is found and read.
// The JSON Schema under `schemas/` is generated from here (`npm run schemas`).

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type FlagOverride, type LoadedConfig, loadConfig, type Problem } from '@starloom/config';
import { isLoopback } from '@starloom/core';
import { LOCAL_PRINCIPAL, type Principal } from '@starloom/identity';
import { z } from 'zod';
import {
  a2aSchema,
  authSchema,
  consoleSchema,
  coordinationSchema,
  jobsSchema,
  journalSchema,
  limitsSchema,
  listenSchema,
  mandatesSchema,
  mcpSchema,
  pinningSchema,
  policySchema,
  realmSchema,
  registrySchema,
  telemetrySchema,
} from './config-sections.ts';

export { checkSharedKey } from './config-rules.ts';

export const gatewayConfigSchema = z
  .strictObject({
    listen: listenSchema.prefault({}).describe('Where the gateway listens'),
    registry: registrySchema.prefault({ kind: 'yaml' }).describe('Where agents are found'),
    realm: realmSchema.prefault({}).describe('What several gateways share'),
    auth: authSchema.prefault({}).describe('Who may call'),
    pinning: pinningSchema.prefault({}).describe('Tools that agents change after approval'),
    policy: policySchema.prefault({}).describe('Rules on who may call which agent, and when'),
    mcp: mcpSchema.prefault({}).describe('What MCP clients see'),
    a2a: a2aSchema.prefault({}).describe('What A2A clients see'),
    limits: limitsSchema.prefault({}).describe('Bounds on every call'),
    mandates: mandatesSchema.prefault({}).describe('What agents do on behalf of their callers'),
    coordination: coordinationSchema
      .prefault({ kind: 'embedded' })
      .describe('Sessions, shared context and locks'),
    jobs: jobsSchema.prefault({ kind: 'sqlite' }).describe('Durable calls'),
    journal: journalSchema.prefault({ kind: 'sqlite' }).describe('What became of every call'),
    telemetry: telemetrySchema.prefault({}).describe('Logs, traces and metrics'),
    console: consoleSchema.prefault({}).describe('The web page for people'),
  })
  .refine(({ auth, listen }) => auth?.anonymous !== true || isLoopback(listen?.host ?? ''), {
    when: () => true,
    path: ['auth', 'anonymous'],
    error: 'true is refused beyond loopback',
    params: { fix: 'set it to false and add a key under auth.psk, or listen on 127.0.0.1' },
  })
  .refine(({ a2a, listen }) => !a2a.grpc || a2a.grpc.certificate || isLoopback(listen.host), {
    path: ['a2a', 'grpc', 'certificate'],
    error: 'gRPC without encryption is refused beyond loopback',
    params: { fix: 'name a certificate and its key, or listen on 127.0.0.1' },
  })
  .refine(({ auth, listen }) => auth.mtls.length === 0 || asksForCertificates(listen), {
    path: ['auth', 'mtls'],
    error: 'needs client certificates, and listen.tls asks for none',
    params: { fix: 'set listen.tls.client_certificates to optional or required' },
  })
  .superRefine(({ auth, jobs }, context) => {
    for (const [index, { principal }] of jobs.schedules.entries()) {
      if (findPrincipal(auth, principal)) continue;
      const message = `no key has the principal "${principal}"`;
      const path = ['jobs', 'schedules', index, 'principal'];
      const params = { fix: 'name the principal of a key under auth.psk, or leave it out' };
      context.addIssue({ code: 'custom', message, path, params });
    }
  });

export type GatewayConfig = z.output<typeof gatewayConfigSchema>;

function asksForCertificates({ tls }: z.output<typeof listenSchema>): boolean {
  return tls !== undefined && tls.client_certificates !== 'none';
}

/** Who a key of the configuration stands for; `local` needs none. */
export function findPrincipal(
  { psk }: z.output<typeof authSchema>,
  id: string,
): Principal | undefined {
  const key = psk.find(({ principal }) => principal === id);
  if (!key) return id === LOCAL_PRINCIPAL.id ? LOCAL_PRINCIPAL : undefined;
  return { id, mode: 'psk', tier: key.tier, scopes: key.scopes, keyId: key.key_id };
}

export interface LoadGatewayConfigOptions {
  /** What `--config` names. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly flags?: { readonly host?: string | undefined; readonly port?: number | undefined };
  readonly resolveSecrets?: boolean;
}

const FILE_NAME = 'starloom.yaml';
const LIKELY_MISTAKES = ['starloom.yml', 'starloom.json', 'starloom.toml'];

/**
 * The gateway's configuration: flags over `STARLOOM_*` variables over the file over defaults. The
 * file is what `--config` names, else `$STARLOOM_CONFIG`, else `./starloom.yaml` if there is one.
 */
export async function loadGatewayConfig(
  options: LoadGatewayConfigOptions,
): Promise<LoadedConfig<GatewayConfig>> {
  const { env, cwd, flags = {} } = options;
  const path = await findGatewayConfig(options);
  const loaded = await loadConfig({
    path,
    cwd,
    env,
    schema: gatewayConfigSchema,
    envPrefix: 'STARLOOM',
    flags: [...flag('--host', 'host', flags.host), ...flag('--port', 'port', flags.port)],
    resolveSecrets: options.resolveSecrets ?? true,
  });
  const overlooked = path === undefined ? await findOverlooked(cwd) : [];
  return { ...loaded, warnings: [...loaded.warnings, ...overlooked] };
}

/** The file that `loadGatewayConfig` would read; `undefined` when there is none. */
export async function findGatewayConfig(
  options: Pick<LoadGatewayConfigOptions, 'path' | 'env' | 'cwd'>,
): Promise<string | undefined> {
  const named = options.path || options.env.STARLOOM_CONFIG;
  if (named) return named;
  return (await exists(resolve(options.cwd, FILE_NAME))) ? FILE_NAME : undefined;
}

function flag(name: string, key: 'host' | 'port', value: unknown): FlagOverride[] {
  return value === undefined ? [] : [{ name, path: ['listen', key], value }];
}

async function findOverlooked(cwd: string): Promise<Problem[]> {
  const warnings: Problem[] = [];
  for (const file of LIKELY_MISTAKES) {
    if (!(await exists(resolve(cwd, file)))) continue;
    const fix = `rename it to ${FILE_NAME} or pass --config ${file}`;
    warnings.push({ file, key: '', message: 'the file is not read', fix });
  }
  return warnings;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
