// The client of the official SDK, on one binding and version, as one principal.

import {
  type AgentCard,
  type SendMessageRequest as Request,
  SendMessageRequest,
  type StreamResponse,
  StreamResponse as StreamResponses,
  Task as Tasks,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { KEY } from '../test-gateway.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into documents freely
export type Json = any;

export const WAYS = [
  ['JSONRPC', '1.0'],
  ['HTTP+JSON', '1.0'],
  ['JSONRPC', '0.3'],
  ['GRPC', '1.0'],
] as const;

/** With it a gateway has all of them. */
export const EVERY_WAY = { a2a: { grpc: { port: 0 } } };

export interface Way {
  readonly binding?: string;
  readonly version?: string;
  readonly key?: string;
  /** `undefined` for the gateway itself. */
  readonly agent?: string | undefined;
  /** Of a gRPC channel; none by default. */
  readonly channel?: ChannelCredentials;
}

export async function connectA2a(url: string, way: Way = {}): Promise<Client> {
  const { binding = 'JSONRPC', version = '1.0', key = KEY } = way;
  const agent = 'agent' in way ? way.agent : 'percy';
  const fetchImpl = withKey(key);
  const legacyCompat = { enabled: true };
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
      new RestTransportFactory({ fetchImpl, legacyCompat }),
      new GrpcTransportFactory({
        grpcChannelCredentials: way.channel ?? credentials.createInsecure(),
      }),
    ],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl, legacyCompat }),
    clientConfig: { interceptors: [bearer(key)] },
  });
  const resolver = new DefaultAgentCardResolver({ fetchImpl, legacyCompat });
  const base = agent === undefined ? url : `${url}/a2a/${agent}`;
  const card: AgentCard = await resolver.resolve(`${base}/.well-known/agent-card.json`, '');
  const supportedInterfaces = card.supportedInterfaces.filter(
    (offered) => offered.protocolBinding === binding && offered.protocolVersion === version,
  );
  return await factory.createFromAgentCard({ ...card, supportedInterfaces });
}

/** For gRPC, where there is no fetch to send it. */
function bearer(key: string): CallInterceptor {
  return {
    before: async (args) => {
      const authorization = `Bearer ${key}`;
      const serviceParameters = { ...args.options?.serviceParameters, authorization };
      args.options = { ...args.options, serviceParameters };
    },
    after: async () => {},
  };
}

type ClientConfig = NonNullable<ConstructorParameters<typeof Client>[2]>;
type CallInterceptor = NonNullable<ClientConfig['interceptors']>[number];

export function withKey(key: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
}

let sent = 0;

/** A request to send, from the parts that matter. */
export function message(
  text: string,
  { configuration, metadata, ...more }: Record<string, unknown> = {},
): Request {
  sent += 1;
  return SendMessageRequest.fromJSON({
    message: { messageId: `m-${sent}`, role: 'ROLE_USER', parts: [{ text }], ...more },
    configuration: { returnImmediately: false, ...(configuration as object) },
    ...(metadata !== undefined && { metadata }),
  });
}

/** The task that a message began, as JSON. */
export async function send(client: Client, request: Request): Promise<Json> {
  const answer = await client.sendMessage(request);
  if ('messageId' in answer) throw new Error('a message, not a task');
  return Tasks.toJSON(answer);
}

export async function collect(stream: AsyncIterable<StreamResponse>): Promise<Json[]> {
  const items: Json[] = [];
  for await (const item of stream) items.push(StreamResponses.toJSON(item));
  return items;
}

export const getTask = async (client: Client, id: string, historyLength?: number): Promise<Json> =>
  Tasks.toJSON(await client.getTask({ tenant: '', id, historyLength }));

export const cancelTask = async (client: Client, id: string): Promise<Json> =>
  Tasks.toJSON(await client.cancelTask({ tenant: '', id, metadata: undefined }));
