// Puts a gateway together from its configuration: every concrete part is chosen here.

import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openAdapter } from '@starloom/adapters';
import { type LoadedConfig, revealText } from '@starloom/config';
import {
  Closers,
  FabricError,
  type JobEngine,
  type Log,
  type Manifest,
  manifestSchema,
  type Registry,
} from '@starloom/core';
import {
  createObserver,
  Gateway,
  type Observer,
  type ObserverOptions,
  openDiscoveredFile,
  Pinning,
  TlsFiles,
} from '@starloom/gateway';
import type { GatewayConfig } from '@starloom/gateway/config';
import {
  type Authenticator,
  type AuthenticatorOptions,
  buildOf,
  createAuthenticator,
  createCertificateVerifier,
  createPskVerifier,
  type Identity,
  OauthVerifier,
  openIdentity,
  type PskKey,
} from '@starloom/identity';
import { openJobs } from '@starloom/jobs';
import { openRegistry, resolveEndpoint } from '@starloom/registry';
import { closeToOthers, isDiskFull } from '@starloom/wire';
import { AgentCertificates } from './agent-certificates.ts';
import { type OpenedPlane, openPlane } from './open-plane.ts';
import { OPTION_SCHEMAS } from './option-schemas.ts';
import { withOwnCommand } from './own-command.ts';
import { auditFolder, identityFolder } from './state-folder.ts';

interface OpenGatewayOptions {
  readonly loaded: LoadedConfig<GatewayConfig>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** A key that is let in beside those of the configuration. */
  readonly localKey?: PskKey;
  /** Where discovered tools and the key of conversations are kept. */
  readonly stateFolder?: string | undefined;
  /** Where the coordination plane keeps its log; without it everything is gone with the process. */
  readonly planeFolder?: string | undefined;
  /** Run the sample agents beside those of the file with the agents, which may be missing. */
  readonly samples: boolean;
  /** Where log lines go; JSON to stderr by default. */
  readonly logDestination?: ObserverOptions['destination'];
}

export interface OpenedGateway {
  readonly gateway: Gateway;
  readonly registry: Registry;
  readonly observer: Observer;
  /** Reads the agents again; undefined when the registry cannot. */
  readonly reload: (() => Promise<void>) | undefined;
  /** Finishes what is in flight, then frees everything, also when a part fails to close. */
  close(): Promise<void>;
}

export async function openGateway(options: OpenGatewayOptions): Promise<OpenedGateway> {
  const { loaded, env, version } = options;
  const { value: config, folder } = loaded;
  const { otlp, log_level } = config.telemetry;
  const observer = createObserver({
    level: log_level,
    otlp: otlp === null ? null : revealText(otlp),
    version,
    destination: options.logDestination,
  });
  const { log } = observer;
  const closers = new Closers();
  closers.add(() => observer.shutdown());
  const close = () =>
    closers.close((error) => log.error({ error: FabricError.from(error) }, 'a part did not close'));
  try {
    const builtIn = options.samples ? await openSamples(folder, observer, closers) : undefined;
    const registry = await openRegistry(config.registry, {
      folder,
      env,
      log,
      builtIn,
      optionSchemas: OPTION_SCHEMAS,
    });
    closers.add(() => registry.close());
    const plane = await openPlane(config, options.planeFolder, log);
    closers.add(plane.close);
    const jobs = await openOwnJobs(config, options, log);
    if (jobs) closers.add(() => jobs.close());
    const discovered = options.stateFolder
      ? await openDiscoveredFile(join(options.stateFolder, 'discovered.json'), log)
      : undefined;
    if (discovered) closers.add(() => discovered.close());
    const conversationKey = options.stateFolder
      ? await readOrCreateKey(join(options.stateFolder, 'conversation.key'), log)
      : undefined;
    const oauth = config.auth.oauth && new OauthVerifier({ ...config.auth.oauth, log });
    if (oauth) closers.add(() => oauth.close());
    const rules = config.auth.mtls;
    const verifiers = {
      oauth,
      certificates: rules.length > 0 ? createCertificateVerifier(rules) : undefined,
    };
    const identity = await openOwnIdentity(options, registry, observer, verifiers, plane);
    const certificates = await openCertificates(config, folder, observer);
    if (certificates) closers.add(async () => certificates.close());
    if (identity) closers.add(() => identity.close());
    const pinning = await openPinning(options, identity, log);
    if (pinning) closers.add(() => pinning.close());
    const reopen = (agentId: string) => gateway.reopen(agentId);
    const shown = new AgentCertificates({ observer, reopen });
    closers.add(async () => shown.close());
    const gateway: Gateway = new Gateway({
      config,
      registry,
      openAdapter: async (listed) => {
        await shown.watch(listed);
        const manifest = await resolveEndpoint(listed, env);
        shown.note(manifest);
        const own = withOwnCommand(manifest, { folder, env });
        const { stateFolder } = options;
        return openAdapter({ manifest: own, log, stateFolder }, { baseFolder: folder });
      },
      authenticator: identity?.authenticator ?? configuredKeys(options, verifiers),
      identity,
      observer,
      certificates,
      version,
      coordination: plane.coordination,
      jobs,
      discovered,
      pinning,
      conversationKey,
    });
    closers.add(() => gateway.close());
    return { gateway, registry, observer, reload: reloadOf(registry, observer), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Verifiers = Pick<AuthenticatorOptions, 'certificates'> & {
  readonly oauth: OauthVerifier | undefined;
};

/** What the port is encrypted with; how long each certificate is valid is watched. */
async function openCertificates(
  { listen }: GatewayConfig,
  folder: string,
  observer: Observer,
): Promise<TlsFiles | undefined> {
  if (!listen.tls) return undefined;
  const files = await TlsFiles.open({ config: listen.tls, folder, log: observer.log });
  const note = () => {
    for (const [name, { validTo }] of files.certificates) {
      observer.certificateSeen(name, Date.parse(validTo));
    }
  };
  files.onChange(note);
  note();
  return files;
}

/** Keys, signing keys and revocations live in the state folder. */
async function openOwnIdentity(
  options: OpenGatewayOptions,
  registry: Registry,
  { log }: Observer,
  verifiers: Verifiers,
  { realm }: OpenedPlane,
): Promise<Identity | undefined> {
  const { loaded, localKey, stateFolder } = options;
  if (stateFolder === undefined) return undefined;
  return await openIdentity({
    folder: identityFolder(stateFolder),
    configured: keysOf(loaded.value, localKey),
    anonymous: loaded.value.auth.anonymous,
    ...verifiers,
    realm,
    auditFolder: auditFolder(stateFolder),
    buildOf: (agentId) => {
      const record = registry.get(agentId);
      return record && buildOf(record.manifest);
    },
    log,
  });
}

/** What operators approved of the tools of agents lives in the state folder, too. */
async function openPinning(
  { loaded: { value }, stateFolder }: OpenGatewayOptions,
  identity: Identity | undefined,
  log: Log,
): Promise<Pinning | undefined> {
  if (stateFolder === undefined || value.pinning.mode === 'off') return undefined;
  const isStrict = value.pinning.mode === 'strict';
  return await Pinning.open({
    stateFolder,
    isStrict,
    audit: (entry) => identity?.audit?.record(entry),
    log,
  });
}

/** Without a state folder there are only the keys and the issuers of the configuration. */
function configuredKeys(
  { loaded: { value }, localKey }: OpenGatewayOptions,
  verifiers: Verifiers,
): Authenticator {
  const { anonymous } = value.auth;
  const psk = createPskVerifier(keysOf(value, localKey));
  return createAuthenticator({ psk, ...verifiers, anonymous });
}

/** Last opened, first closed. */
async function openSamples(
  folder: string,
  { log }: Observer,
  closers: Closers,
): Promise<Manifest[]> {
  const { startSamples } = await import('@starloom/samples');
  const samples = await startSamples({ folder, log });
  closers.add(() => samples.stop());
  return samples.manifests.map((manifest) => manifestSchema.parse(manifest));
}

function keysOf({ auth }: GatewayConfig, localKey: PskKey | undefined): PskKey[] {
  const configured = auth.psk.map(({ key, ...rest }) => ({ ...rest, key: revealText(key) }));
  return localKey ? [...configured, localKey] : configured;
}

function reloadOf(registry: Registry, observer: Observer): OpenedGateway['reload'] {
  if (!('reload' in registry) || typeof registry.reload !== 'function') return undefined;
  const reload = registry.reload.bind(registry) as () => Promise<{ ok: boolean }>;
  return async () => observer.configReloaded((await reload()).ok);
}

interface JobFolders {
  readonly stateFolder?: string | undefined;
  /** Only of a gateway that has the state to itself: one file serves one gateway. */
  readonly planeFolder?: string | undefined;
}

/** Durable jobs as the configuration says; none without a place to keep them. */
async function openOwnJobs(
  { jobs }: GatewayConfig,
  { stateFolder, planeFolder }: JobFolders,
  log: Log,
): Promise<JobEngine | undefined> {
  if (jobs.kind === 'sqlite') {
    if (planeFolder === undefined) return undefined;
    return openJobs({ kind: jobs.kind }, { stateFolder: planeFolder, log });
  }
  if (stateFolder === undefined) return undefined;
  const place = { kind: jobs.kind, url: revealText(jobs.url), documents: jobs.documents };
  return openJobs(place, { stateFolder, log });
}

const BYTES = 32;

/** A secret of this gateway alone, made at its first start. */
async function readOrCreateKey(path: string, log: Log): Promise<Buffer> {
  const known = await readFile(path).catch(() => undefined);
  if (known?.length === BYTES) {
    await closeToOthers(path);
    return known;
  }
  const key = randomBytes(BYTES);
  try {
    await writeFile(path, key, { mode: 0o600 });
  } catch (error) {
    await rm(path, { force: true });
    if (!isDiskFull(error)) throw error;
    log.error({ path }, 'the disk is full: conversations end with this process');
  }
  return key;
}
