// gRPC, loaded only for agents that use it. The library resolves names by itself, so a name is
// judged right before it is dialled. The SDK does not close its channel; this does.

import { isIP } from 'node:net';
import type { Transport } from '@a2a-js/sdk/client';
import type { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { FabricError } from '@starloom/core';
import type { AddressGuard } from '@starloom/wire';
import type { ChosenInterface } from './choose-interface.ts';

export interface ClosableTransport {
  readonly transport: Transport;
  close(): void;
}

type SdkCard = Parameters<GrpcTransportFactory['create']>[1];

export async function openGrpc(
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
  return new FabricError('AGENT_OFFLINE', 'The agent cannot be reached', {
    details: { reason: 'unknown_host', sent: false, fix: 'check the address in the agent card' },
    cause: error,
  });
}

function closeChannel(transport: Transport): void {
  const client: unknown = Reflect.get(transport, 'grpcClient');
  if (typeof client !== 'object' || client === null || !('close' in client)) return;
  if (typeof client.close === 'function') client.close();
}
