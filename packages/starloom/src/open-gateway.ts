// Puts a gateway together from its configuration: every concrete part is chosen here.

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LoadedConfig, revealText } from '@starloom/config';
import { PAGE_FOLDER } from '@starloom/console';
import {
  Closers,
  FabricError,
  type JobEngine,
  type Journal,
  type Log,
  type Manifest,
  manifestSchema,
  type Registry,
} from '@starloom/core';
import {
  createObserver,
  Gateway,
  type GatewayOptions,
  type Observer,
  type ObserverOptions,
  openDiscoveredFile,
  Pinning,
  SharedRules,
  TlsFiles,
} from '@starloom/gateway';
import type { GatewayConfig } from '@starloom/gateway/config';
import {
  type AuditEntry,
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
import { openJournal } from '@starloom/journal';
import { openRegistry } from '@starloom/registry';
import { deriveKey } from '@starloom/wire';
import { AdapterOpener } from './agent-adapters.ts';
import { openPlane } from './open-plane.ts';
import { OPTION_SCHEMAS } from './option-schemas.ts';
import { type OpenedRealm, openRealm } from './realm.ts';
import { readOrCreateKey, toRegistryConfig } from './registry-config.ts';
import { auditFolder, identityFolder } from './state-folder.ts';

/** Probes load the clients of agents, which is a fifth of a start. */
const FIRST_PROBES_MS = 200;

interface OpenGatewayOptions {
  readonly loaded: LoadedConfig<GatewayConfig>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** A key that is let in beside those of the configuration. */
  readonly localKey?: PskKey;
  /** Where discovered tools and the key of conversations are kept. */
  readonly stateFolder?: string | undefined;
  /**
   * Where jobs, the journal and the coordination plane are kept by a gateway that has the state to
   * itself; without it everything is gone with the process.
   */
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
    const builtIn = options.samples ? await openSamples(folder, log, closers) : undefined;
    const registry = await openRegistry(await toRegistryConfig(config, options.stateFolder, log), {
      folder,
      env,
      log,
      builtIn,
      optionSchemas: OPTION_SCHEMAS,
    });
    closers.add(() => registry.close());
    const plane = await openPlane(config, options.planeFolder, log);
    closers.add(plane.close);
    const realm = await openRealm(config, plane.realm, log);
    closers.add(realm.close);
    const jobs = await openOwnJobs(config, options, log);
    if (jobs) closers.add(() => jobs.close());
    const journal = await openOwnJournal(config, options, log);
    if (journal) closers.add(() => journal.close());
    const { stateFolder } = options;
    const discovered =
      stateFolder && (await openDiscoveredFile(join(stateFolder, 'discovered.json'), log));
    if (discovered) closers.add(() => discovered.close());
    const ownKey = stateFolder
      ? await readOrCreateKey(join(stateFolder, 'conversation.key'), log)
      : undefined;
    const { secret } = realm;
    const { oauth: issuer, mtls } = config.auth;
    const oauth = issuer && new OauthVerifier({ ...issuer, log });
    if (oauth) closers.add(() => oauth.close());
    const certificateRules = mtls.length > 0 ? createCertificateVerifier(mtls) : undefined;
    const verifiers = { oauth, certificates: certificateRules };
    const identity = await openOwnIdentity(options, registry, observer, verifiers, realm);
    const certificates = await openCertificates(config, folder, observer);
    if (certificates) closers.add(async () => certificates.close());
    if (identity) closers.add(() => identity.close());
    const pinning = await openPinning(options, identity, registry, realm, log);
    if (pinning) closers.add(() => pinning.close());
    const sharedRules = await openSharedRules(options, identity, realm, log);
    if (sharedRules) closers.add(() => sharedRules.close());
    const reopen = (agentId: string) => gateway.reopen(agentId);
    const agents = new AdapterOpener({ env, folder, stateFolder, observer, reopen });
    closers.add(async () => agents.close());
    const gateway: Gateway = new Gateway({
      config,
      registry,
      openAdapter: agents.open,
      authenticator: identity?.authenticator ?? configuredKeys(options, verifiers),
      identity,
      observer,
      certificates,
      version,
      coordination: plane.coordination,
      jobs,
      journal,
      discovered: discovered || undefined,
      pinning,
      sharedRules,
      conversationKey: secret ? deriveKey(secret, 'starloom conversations') : ownKey,
      gatewayId: ownKey && createHash('sha256').update(ownKey).digest('hex').slice(0, 16),
      realm: secret && { secret, store: realm.store },
      console: consoleOf(options),
      firstProbesMs: FIRST_PROBES_MS,
    });
    closers.add(() => gateway.close());
    return { gateway, registry, observer, reload: reloadOf(registry, observer), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Of a gateway that has the state to itself, as one that serves HTTP has. */
function consoleOf({ loaded, planeFolder }: OpenGatewayOptions): GatewayOptions['console'] {
  if (planeFolder === undefined) return undefined;
  const { file, value, origins } = loaded;
  const settings = { file, value, origins };
  return { pageFolder: fileURLToPath(PAGE_FOLDER), stateFolder: planeFolder, settings };
}

type Verifiers = Pick<AuthenticatorOptions, 'certificates'> & {
  readonly oauth: OauthVerifier | undefined;
};

/** What the port is encrypted with; how long each certificate is valid is watched. */
async function openCertificates({ listen }: GatewayConfig, folder: string, observer: Observer) {
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
  realm: OpenedRealm,
): Promise<Identity | undefined> {
  const { loaded, localKey, stateFolder } = options;
  if (stateFolder === undefined) return undefined;
  return await openIdentity({
    folder: identityFolder(stateFolder),
    configured: keysOf(loaded.value, localKey),
    anonymous: loaded.value.auth.anonymous,
    ...verifiers,
    realm: realm.store,
    realmSecret: realm.secret,
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
  registry: Registry,
  { store, secret }: OpenedRealm,
  log: Log,
): Promise<Pinning | undefined> {
  if (stateFolder === undefined || value.pinning.mode === 'off') return undefined;
  const isStrict = value.pinning.mode === 'strict';
  return await Pinning.open({
    stateFolder,
    isStrict,
    realm: store && secret && { store, secret },
    ownerOf: (manifest) => ownerOf(manifest, registry),
    audit: (entry) => identity?.audit?.record(entry),
    log,
  });
}

/** What the realm says stays in force here while its store is away, or is not configured any more. */
async function openSharedRules(
  { stateFolder }: OpenGatewayOptions,
  identity: Identity | undefined,
  { store, secret }: OpenedRealm,
  log: Log,
): Promise<SharedRules | undefined> {
  if (stateFolder === undefined || !secret) return undefined;
  const realm = store && { store, secret };
  const audit = (entry: AuditEntry) => identity?.audit?.record(entry);
  return await SharedRules.open({ stateFolder, realm, audit, log });
}

/** The principal that registered the agent; undefined when an operator added it. */
function ownerOf(manifest: Manifest, registry: Registry): string | undefined {
  const instances = registry.get(manifest.agent_id)?.instances ?? [];
  return (instances.find((one) => one.manifest === manifest) ?? instances[0])?.owner;
}

/** Without a state folder there are only the keys and the issuers of the configuration. */
function configuredKeys({ loaded: { value }, localKey }: OpenGatewayOptions, verifiers: Verifiers) {
  const { anonymous } = value.auth;
  const psk = createPskVerifier(keysOf(value, localKey));
  return createAuthenticator({ psk, ...verifiers, anonymous });
}

async function openSamples(folder: string, log: Log, closers: Closers): Promise<Manifest[]> {
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

/** Durable jobs as the configuration says; none without a place to keep them. */
async function openOwnJobs(
  { jobs }: GatewayConfig,
  { stateFolder, planeFolder }: OpenGatewayOptions,
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

/** A gateway without a folder of its own remembers this many calls. */
const MAX_REMEMBERED = 5_000;

/** What became of calls; a gateway that has no state to itself remembers them while it runs. */
async function openOwnJournal(
  { journal, registry }: GatewayConfig,
  { planeFolder }: OpenGatewayOptions,
  log: Log,
): Promise<Journal | undefined> {
  if (journal.kind === 'off') return undefined;
  const { calls } = journal;
  const named = 'node_id' in registry ? registry.node_id : undefined;
  const options = { calls, gateway: named ?? hostname(), log };
  if (journal.kind === 'postgres') {
    return openJournal({ kind: 'postgres', url: revealText(journal.url) }, options);
  }
  if (planeFolder === undefined) {
    return openJournal({ kind: 'memory' }, { ...options, calls: Math.min(calls, MAX_REMEMBERED) });
  }
  const path = join(planeFolder, 'journal', 'journal.sqlite');
  return openJournal({ kind: 'sqlite', path }, options);
}
