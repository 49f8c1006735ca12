// The way to an agent by one interface of its card. Thin: the SDK speaks; this adds what every
// request of ours carries.

import { isIP } from 'node:net';
import { AgentCard, type SendMessageRequest, type StreamResponse, type Task } from '@a2a-js/sdk';
import {
  Client,
  JsonRpcTransportFactory,
  type RequestOptions,
  RestTransportFactory,
  TenantTransportDecorator,
  type Transport,
} from '@a2a-js/sdk/client';
import type { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { FabricError, type InboundWebhook } from '@starloom/core';
import type { AddressGuard } from '@starloom/wire';
import { failure } from '../reasons.ts';
import type { CardView } from './agent-card.ts';
import type { AgentFetch } from './agent-fetch.ts';
import type { ChosenInterface } from './choose-interface.ts';
import { BINDINGS } from './options.ts';

interface A2aConnectionOptions {
  readonly card: CardView;
  readonly chosen: ChosenInterface;
  readonly fetch: AgentFetch;
  readonly guard: AddressGuard;
  /** Of the manifest; over HTTP `fetch` adds them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What each request of one call has in common. */
export interface CallLine {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export class A2aConnection {
  readonly card: CardView;
  readonly chosen: ChosenInterface;
  /** Cleared when the agent's streams turn out to be broken, until its card is read again. */
  streaming: boolean;
  readonly #client: Client;
  readonly #opened: ClosableTransport;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(options: A2aConnectionOptions, opened: ClosableTransport, client: Client) {
    this.card = options.card;
    this.chosen = options.chosen;
    this.streaming = options.card.streaming;
    this.#client = client;
    this.#opened = opened;
    const isGrpc = options.chosen.binding === BINDINGS.grpc;
    this.#headers = isGrpc ? options.headers : {};
  }

  static async open(options: A2aConnectionOptions): Promise<A2aConnection> {
    const { card, chosen } = options;
    const sdkCard = toSdkCard(card, chosen);
    const opened = await openTransport(options, sdkCard);
    const { transport } = opened;
    const scoped =
      chosen.tenant === '' ? transport : new TenantTransportDecorator(transport, chosen.tenant);
    return new A2aConnection(options, opened, new Client(scoped, sdkCard));
  }

  /** The SDK drops `append` of artifacts where 0.3 is not spoken over JSON-RPC. */
  get losesAppend(): boolean {
    return this.chosen.version === '0.3' && this.chosen.binding !== BINDINGS.jsonrpc;
  }

  stream(request: SendMessageRequest, line: CallLine): AsyncIterable<StreamResponse> {
    return this.#client.sendMessageStream(request, this.#options(line));
  }

  async send(request: SendMessageRequest, line: CallLine): Promise<StreamResponse> {
    const result = await this.#client.sendMessage(request, this.#options(line));
    return 'messageId' in result
      ? { payload: { $case: 'message', value: result } }
      : { payload: { $case: 'task', value: result } };
  }

  subscribe(id: string, line: CallLine): AsyncIterable<StreamResponse> {
    return this.#client.resubscribeTask({ tenant: '', id }, this.#options(line));
  }

  get(id: string, line: CallLine): Promise<Task> {
    return this.#client.getTask({ tenant: '', id, historyLength: HISTORY }, this.#options(line));
  }

  cancel(id: string, line: CallLine): Promise<Task> {
    return this.#client.cancelTask({ tenant: '', id, metadata: undefined }, this.#options(line));
  }

  /** Asks the agent to notify a webhook of every change of a task. */
  async notify(taskId: string, { url, token }: Hook, line: CallLine): Promise<void> {
    const authentication = { scheme: 'Bearer', credentials: token };
    const config = { tenant: '', id: HOOK_ID, taskId, url, token, authentication };
    await this.#client.createTaskPushNotificationConfig(config, this.#options(line));
  }

  async stopNotifying(taskId: string, line: CallLine): Promise<void> {
    const config = { tenant: '', taskId, id: HOOK_ID };
    await this.#client.deleteTaskPushNotificationConfig(config, this.#options(line));
  }

  /** The card that an authenticated client gets. */
  extendedCard(line: CallLine): Promise<AgentCard> {
    return this.#client.getAgentCard(this.#options(line));
  }

  close(): void {
    this.#opened.close();
  }

  #options({ headers, signal }: CallLine): RequestOptions {
    return { signal, serviceParameters: { ...this.#headers, ...headers } };
  }
}

type Hook = Pick<InboundWebhook, 'url' | 'token'>;

const HOOK_ID = 'starloom';
/** Messages of a task that are asked for; some agents keep their answer there alone. */
const HISTORY = 10;

async function openTransport(
  { chosen, fetch, guard }: A2aConnectionOptions,
  card: AgentCard,
): Promise<ClosableTransport> {
  if (chosen.binding === BINDINGS.grpc) return await openGrpc(chosen, card, guard);
  const options = {
    fetchImpl: fetch as unknown as typeof globalThis.fetch,
    legacyCompat: { enabled: true },
  };
  const factory =
    chosen.binding === BINDINGS.rest
      ? new RestTransportFactory(options)
      : new JsonRpcTransportFactory(options);
  return { transport: await factory.create(chosen.url, card), close: () => {} };
}

/** What the SDK needs of a card: the one interface, and whether the agent streams. */
function toSdkCard(
  { name, streaming, push, extended }: CardView,
  chosen: ChosenInterface,
): AgentCard {
  const url = chosen.authority ?? chosen.url;
  return AgentCard.fromJSON({
    name,
    capabilities: { streaming, pushNotifications: push, extendedAgentCard: extended },
    supportedInterfaces: [
      {
        url,
        protocolBinding: chosen.binding,
        protocolVersion: chosen.version,
        tenant: chosen.tenant,
      },
    ],
  });
}

interface ClosableTransport {
  readonly transport: Transport;
  close(): void;
}

type SdkCard = Parameters<GrpcTransportFactory['create']>[1];

/**
 * gRPC, loaded only for agents that use it. The library resolves names by itself, so a name is
 * judged right before it is dialled. The SDK does not close its channel; this does.
 */
async function openGrpc(
  { authority = '', isEncrypted }: ChosenInterface,
  card: SdkCard,
  guard: AddressGuard,
): Promise<ClosableTransport> {
  await assertDialable(authority, guard);
  const [{ credentials }, { GrpcTransportFactory }] = await Promise.all([
    import('@grpc/grpc-js'),
    import('@a2a-js/sdk/client/grpc'),
  ]);
  const factory = new GrpcTransportFactory({
    grpcChannelCredentials: isEncrypted
      ? withoutAddressAsName(credentials.createSsl())
      : credentials.createInsecure(),
    legacyCompat: { enabled: true },
  });
  const transport = await factory.create(authority, card);
  return { transport, close: () => closeChannel(transport) };
}

/**
 * The library gives the host to TLS as the server's name, also an IP address, which Node 26 refuses.
 * Without that name the certificate is still checked against the address.
 */
export function withoutAddressAsName(secure: ChannelCredentials): ChannelCredentials {
  const createConnector = secure._createSecureConnector.bind(secure);
  secure._createSecureConnector = (...args) => {
    const connector = createConnector(...args);
    const options: unknown = Reflect.get(connector, 'connectionOptions');
    if (typeof options === 'object' && options !== null && 'servername' in options) {
      if (isIP(String(options.servername)) !== 0) delete options.servername;
    }
    return connector;
  };
  return secure;
}

async function assertDialable(authority: string, guard: AddressGuard): Promise<void> {
  const { hostname } = new URL(`http://${authority}`);
  guard.check(`http://${authority}/`);
  await new Promise<void>((resolve, reject) => {
    guard.lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }, (error) => {
      if (error) reject(toRefusal(error));
      else resolve();
    });
  });
}

function toRefusal(error: Error): FabricError {
  if (FabricError.is(error)) return error;
  return failure('unknown_host', {}, { cause: error });
}

function closeChannel(transport: Transport): void {
  const client: unknown = Reflect.get(transport, 'grpcClient');
  if (typeof client !== 'object' || client === null || !('close' in client)) return;
  if (typeof client.close === 'function') client.close();
}
