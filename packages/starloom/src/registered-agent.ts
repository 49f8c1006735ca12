// Keeps an agent registered at a gateway for as long as it runs: heartbeats, a new registration when the
// gateway no longer knows the old one, and a clean end.

import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type Registration, type TrustTier } from '@starloom/core';
import type { AgentFile } from '@starloom/runtime';
import { toAgentManifest } from './commands/agents-add-manifest.ts';
import { connectToGateway, type GatewayClient } from './gateway-client.ts';
import type { Terminal } from './terminal.ts';

interface AdvertisedPlace {
  readonly url: string;
  /** What it shows there, if the agent asks for a key. */
  readonly header: string | undefined;
  readonly node?: string | undefined;
  readonly tier?: TrustTier | undefined;
}

export async function registerAgent(
  terminal: Terminal,
  gatewayUrl: string,
  agent: AgentFile,
  { url, header, node = hostname(), tier = 'org' }: AdvertisedPlace,
): Promise<RegisteredAgent> {
  const { capabilities, agent_id, version, description } = toAgentManifest(agent, '');
  const headers = header === undefined ? undefined : { Authorization: header };
  const manifest = {
    ...{ agent_id, node_id: node, version, description, capabilities, trust_tier: tier },
    endpoint: { transport: 'http', uri: url, headers },
  };
  return await RegisteredAgent.start(terminal, gatewayUrl, manifest);
}

const LEASE_MS = 30_000;
/** Heartbeats in the time of a lease: two may get lost. */
const BEATS = 3;
const RETRY_MS = 1_000;

export class RegisteredAgent {
  readonly #terminal: Terminal;
  readonly #url: string;
  readonly #manifest: object;
  readonly #stop = new AbortController();
  #client: GatewayClient | undefined;
  #registration: Registration | undefined;
  #isReported = false;
  #running: Promise<void> = Promise.resolve();

  private constructor(terminal: Terminal, url: string, manifest: object) {
    this.#terminal = terminal;
    this.#url = url;
    this.#manifest = manifest;
  }

  /** Rejects when the gateway at `url` cannot be reached or refuses the agent. */
  static async start(terminal: Terminal, url: string, manifest: object): Promise<RegisteredAgent> {
    const agent = new RegisteredAgent(terminal, url, manifest);
    await agent.#register();
    agent.#running = agent.#run();
    return agent;
  }

  /** New calls go elsewhere from now on; then the instance is gone from the directory. */
  async leave(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const key = this.#key();
    // Its lease runs out by itself.
    if (key) await this.#client?.call('fabric.agent.leave', key).catch(() => {});
    await this.#client?.[Symbol.asyncDispose]();
  }

  async drain(): Promise<void> {
    const key = this.#key();
    if (key) await this.#client?.call('fabric.agent.drain', key).catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const waitMs = this.#registration ? LEASE_MS / BEATS : RETRY_MS;
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.#beat();
    }
  }

  /** Never rejects: the agent goes on serving, and tries again. */
  async #beat(): Promise<void> {
    try {
      const key = this.#key();
      if (key) await this.#client?.call('fabric.agent.heartbeat', key);
      else await this.#register();
      if (this.#isReported) this.#terminal.tell('registered at the gateway again');
      this.#isReported = false;
    } catch (thrown) {
      const error = FabricError.from(thrown);
      // The gateway answered that it is not registered: at once. Else the gateway may be back soon.
      if (error.details.reason === 'stale_epoch') this.#registration = undefined;
      else await this.#disconnect();
      if (!this.#isReported) this.#terminal.tell(`not registered: ${error.message}`);
      this.#isReported = true;
    }
  }

  async #register(): Promise<void> {
    this.#client ??= await connectToGateway(this.#terminal, this.#url);
    const request = { manifest: this.#manifest, lease_ms: LEASE_MS };
    this.#registration = await this.#client.call('fabric.agent.register', request);
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#registration = undefined;
    try {
      await client?.[Symbol.asyncDispose]();
    } catch {
      // The connection is lost already.
    }
  }

  #key() {
    if (!this.#registration) return undefined;
    const { agent_id, node_id, epoch } = this.#registration;
    return { agent_id, node_id, epoch };
  }
}
