// A2A over gRPC, on a port of its own where one is configured. The agent is named by `tenant`, as its
// card says; without one the gateway itself is meant. The key is checked before a message is read.

import { once } from 'node:events';
import { SendMessageRequest, type StreamResponse, type SubscribeToTaskRequest } from '@a2a-js/sdk';
import { encodeGrpcStatusDetails, GRPC_STATUS_DETAILS_BIN } from '@a2a-js/sdk/errors/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import {
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { a2aError, LEGACY, OWN_ID } from '@starloom/a2a';
import { type A2aFace, assertVersion, describeFailure } from '@starloom/a2a/tasks';
import { createTrace, FabricError, type Trace } from '@starloom/core';
import { type Authenticator, type Principal, pickCredentials } from '@starloom/identity';
import { settlesWithin } from '@starloom/wire';
import type { InFlight } from '../in-flight.ts';
import type { ActiveRequest, Observer } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { parseValue } from '../transports/frame.ts';
import type { A2aServer } from './server.ts';

interface A2aGrpcOptions {
  readonly server: A2aServer;
  readonly authenticator: Authenticator;
  readonly inFlight: InFlight;
  readonly observer: Pick<Observer, 'requestStarted'>;
  readonly messageBytes: number;
  /** PEM; without them the connection is not encrypted. */
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
  /** Of the HTTP side, for cards. */
  readonly base: string;
}

type Request = { readonly tenant: string };
type Call = Pick<ServerUnaryCall<Request, unknown>, 'metadata' | 'request'> &
  Pick<NodeJS.EventEmitter, 'once'>;

/** Operations that take and give what the face does. */
const PASSED_ON = [
  'getTask',
  'listTasks',
  'cancelTask',
  'createTaskPushNotificationConfig',
  'getTaskPushNotificationConfig',
  'listTaskPushNotificationConfigs',
] as const;
/** Legacy clients have a service of their own, which is not served. */
const VERSIONS = ['1.0'];
const MAX_STREAMS = 1_024;
/** How long the last answers may take to leave. */
const FAREWELL_MS = 1_000;

export class A2aGrpc {
  readonly #asking = new WeakMap<Metadata, ActiveRequest>();
  readonly #options: A2aGrpcOptions;
  readonly #server: Server;
  readonly #closing = new AbortController();

  constructor(options: A2aGrpcOptions) {
    this.#options = options;
    this.#server = new Server({
      'grpc.max_receive_message_length': options.messageBytes,
      'grpc.max_concurrent_streams': MAX_STREAMS,
      interceptors: [this.#gate],
    });
    this.#server.addService(A2AService, this.#service());
  }

  /** The port that it listens on. */
  async listen(host: string, port: number): Promise<number> {
    const { tls } = this.#options;
    const credentials = tls
      ? ServerCredentials.createSsl(null, [
          { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) },
        ])
      : ServerCredentials.createInsecure();
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    return await new Promise((resolve, reject) => {
      this.#server.bindAsync(address, credentials, (error, bound) => {
        if (error) reject(failure('cannot_listen/grpc', { address }, { cause: error }));
        else resolve(bound);
      });
    });
  }

  /** Ends subscriptions, and what does not end by itself. */
  async close(): Promise<void> {
    this.#closing.abort(failure('shutting_down/waiting'));
    const ended = new Promise((resolve) => this.#server.tryShutdown(resolve));
    await settlesWithin(ended, FAREWELL_MS);
    this.#server.forceShutdown();
  }

  #service() {
    const passed = PASSED_ON.map((name) => [
      name,
      this.#unary((face, request): Promise<unknown> => face[name](request as never)),
    ]);
    return {
      ...Object.fromEntries(passed),
      sendMessage: this.#unary((face, request: SendMessageRequest) =>
        face.sendMessage(asJson(request)).then((sent) => ({
          payload:
            'messageId' in sent
              ? { $case: 'message' as const, value: sent }
              : { $case: 'task' as const, value: sent },
        })),
      ),
      sendStreamingMessage: this.#stream((face, request: SendMessageRequest) =>
        face.sendMessageStream(asJson(request)),
      ),
      subscribeToTask: this.#stream(
        (face, request: SubscribeToTaskRequest) => face.resubscribe(request),
        true,
      ),
      deleteTaskPushNotificationConfig: this.#unary((face, request: Request) =>
        face.deleteTaskPushNotificationConfig(request as never).then(() => ({})),
      ),
      getExtendedAgentCard: this.#unary((face) => face.getAuthenticatedExtendedAgentCard()),
    };
  }

  /** Who calls is decided by the metadata, before anything else of the call is taken. */
  readonly #gate: ServerInterceptor = ({ path }, call) =>
    new ServerInterceptingCall(call, {
      start: (next) => {
        const listener = new ServerListenerBuilder().withOnReceiveMetadata((metadata, pass) => {
          this.#admit(metadata, path).then(
            () => pass(metadata),
            (error: unknown) => call.sendStatus(this.#toStatus(error, metadata)),
          );
        });
        next(listener.build());
      },
    });

  async #admit(metadata: Metadata, path: string): Promise<void> {
    const method = path.slice(path.lastIndexOf('/') + 1);
    const about = { face: 'a2a', transport: 'grpc', headers: metadata.getMap(), method } as const;
    const seen = this.#options.observer.requestStarted(about);
    this.#asking.set(metadata, seen);
    try {
      seen.principal = await this.#authenticate(metadata);
      this.#options.inFlight.assertOpen();
    } catch (error) {
      seen.fail(error);
      seen.end();
      throw error;
    }
  }

  #toStatus(error: unknown, metadata: Metadata) {
    const seen = this.#asking.get(metadata);
    seen?.fail(error);
    return toGrpcStatus(error, seen?.trace);
  }

  #authenticate(metadata: Metadata): Principal | Promise<Principal> {
    const raw = ['authorization', 'x-agent-passport', 'x-agent-mandate'].flatMap((name) =>
      metadata.get(name).flatMap((value) => [name, `${value}`]),
    );
    const headers = pickCredentials(raw);
    return this.#options.authenticator.authenticate({ transport: 'http', headers });
  }

  /** A credential may be good for one use, so it is looked at once. */
  #callerOf(metadata: Metadata): {
    readonly principal: Principal;
    readonly request: ActiveRequest;
  } {
    const request = this.#asking.get(metadata);
    if (request?.principal) return { principal: request.principal, request };
    throw new FabricError('INTERNAL', 'A gRPC call passed without authentication');
  }

  #unary<Asked extends Request, Answer>(work: (face: A2aFace, request: Asked) => Promise<Answer>) {
    return async (call: ServerUnaryCall<Asked, Answer>, done: sendUnaryData<Answer>) => {
      const leave = this.#options.inFlight.enter();
      try {
        done(null, await work(this.#open(call), call.request));
      } catch (error) {
        done(this.#toStatus(error, call.metadata));
      } finally {
        this.#asking.get(call.metadata)?.end();
        leave();
      }
    };
  }

  /** A subscription stays open for as long as the client likes: a shutdown does not wait for it. */
  #stream<Asked extends Request>(
    work: (face: A2aFace, request: Asked) => AsyncGenerator<StreamResponse, void>,
    isSubscription = false,
  ) {
    return async (call: ServerWritableStream<Asked, StreamResponse>) => {
      const leave = this.#options.inFlight.enter();
      if (isSubscription) leave();
      try {
        const face = this.#open(call, isSubscription ? this.#closing.signal : undefined);
        for await (const update of work(face, call.request)) {
          if (call.cancelled) return;
          if (!call.write(update)) await roomIn(call);
        }
        call.end();
      } catch (error) {
        const status = this.#toStatus(error, call.metadata);
        if (!call.cancelled) call.emit('error', status);
      } finally {
        this.#asking.get(call.metadata)?.end();
        leave();
      }
    };
  }

  #open(call: Call, closing?: AbortSignal): A2aFace {
    const { server, base } = this.#options;
    const { metadata, request } = call;
    const left = new AbortController();
    const signal = closing ? AbortSignal.any([left.signal, closing]) : left.signal;
    call.once('cancelled', () => left.abort(failure('client_gone')));
    const version = String(metadata.get('a2a-version')[0] ?? '') || LEGACY;
    assertVersion(version, VERSIONS);
    const isOwn = request.tenant === '' || request.tenant === OWN_ID;
    const agentId = isOwn ? undefined : request.tenant;
    return server.open(agentId, {
      ...this.#callerOf(metadata),
      headers: metadata.getMap(),
      version,
      signal,
      isLegacy: false,
      base,
      cut: () => left.abort(failure('client_gone')),
    });
  }
}

/** What is nested is held to the limits of JSON: it is kept, and given to agents, as JSON. */
function asJson(request: SendMessageRequest): SendMessageRequest {
  try {
    return SendMessageRequest.fromJSON(
      parseValue(JSON.stringify(SendMessageRequest.toJSON(request))),
    );
  } catch (error) {
    if (FabricError.is(error)) throw error;
    throw a2aError('INVALID_PARAMS', 'The message is nested too deep');
  }
}

/** A reader that takes nothing for too long is given up. */
const STALL_MS = 30_000;

async function roomIn(call: ServerWritableStream<unknown, unknown>): Promise<void> {
  const signal = AbortSignal.timeout(STALL_MS);
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const waits = [
    once(call, 'drain', { signal: either }),
    once(call, 'cancelled', { signal: either }),
  ];
  await Promise.race(waits).finally(() => {
    done.abort();
    for (const wait of waits) wait.catch(() => {});
  });
}

/** What went wrong as gRPC says it: its code, and `google.rpc.ErrorInfo` in the details. */
function toGrpcStatus(thrown: unknown, trace: Trace = createTrace()) {
  const { error, status: name, reason } = describeFailure(thrown, trace);
  const code = status[name];
  const about = { code: error.code, trace_id: trace.trace_id };
  const metadata = new Metadata();
  const details = encodeGrpcStatusDetails(code, error.message, reason, about);
  metadata.set(GRPC_STATUS_DETAILS_BIN, details);
  return { code, details: error.message, metadata, name: 'A2aError', message: error.message };
}
