import { Client, credentials, Server, ServerCredentials } from '@grpc/grpc-js';
import { createTestCa, type LeafOptions, type TestCa } from '@starloom/testkit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { withoutAddressAsName } from '../../a2a/src/client/connection.ts';

let ca: TestCa;
beforeAll(async () => {
  ca = await createTestCa();
});

async function serve(leaf: LeafOptions): Promise<string> {
  const { certificate, key } = await ca.issue(leaf);
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  const secure = ServerCredentials.createSsl(null, [pair]);
  return await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secure, (error, port) => {
      if (error) reject(error);
      else resolve(`127.0.0.1:${port}`);
    });
  });
}

/** Why the first call failed; a server without services says that it is not implemented. */
async function firstFailure(authority: string): Promise<string> {
  const secure = withoutAddressAsName(credentials.createSsl(Buffer.from(ca.certificate)));
  const client = new Client(authority, secure);
  onTestFinished(() => client.close());
  const [encode, decode] = [() => Buffer.alloc(0), () => ({})];
  return await new Promise((resolve) => {
    client.makeUnaryRequest('/none/none', encode, decode, {}, (error) => {
      resolve(String(error?.details));
    });
  });
}

describe('gRPC with TLS at an IP address', () => {
  it('connects to a server whose certificate names the address', async () => {
    const authority = await serve({ ips: ['127.0.0.1'] });
    expect(await firstFailure(authority)).toMatch(/unimplemented|does not implement/i);
  });

  it('refuses a server whose certificate does not name the address', async () => {
    const authority = await serve({ dns: ['localhost'] });
    expect(await firstFailure(authority)).toMatch(/127\.0\.0\.1.*not in the cert's list/);
  });
});
