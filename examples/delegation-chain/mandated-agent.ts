// An agent that takes calls over HTTP and does nothing without a mandate. It verifies the mandate itself,
// with public keys that it was given once: no question to the gateway.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Envelope } from '@starloom/core';
import { FabricError } from '@starloom/core';
import {
  type Mandate,
  ReplayMemory,
  type VerifyMandateOptions,
  verifyMandate,
} from '@starloom/identity';

export type Keys = Pick<VerifyMandateOptions, 'jwks' | 'issuer'>;

/** One call that the agent has verified. */
export interface Verified {
  readonly task: string;
  readonly mandate: Mandate;
  /** The mandate itself, with which the agent may call on. */
  readonly token: string;
}

export interface MandatedAgent extends AsyncDisposable {
  readonly url: string;
  /** Mandates in the order in which they came. */
  readonly tokens: readonly string[];
}

export async function startMandatedAgent(
  agentId: string,
  keys: () => Keys,
  work: (call: Verified) => Promise<string>,
): Promise<MandatedAgent> {
  const replay = new ReplayMemory();
  const tokens: string[] = [];
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.method === 'GET') return answer(200, {});
    try {
      const { input, target } = (await json(request)) as Envelope;
      const token = String(request.headers['x-agent-mandate']);
      const rules = { ...keys(), audience: agentId, capability: target.capability, replay };
      const mandate = await verifyMandate(token, rules);
      tokens.push(token);
      answer(200, { answer: await work({ task: input.task, mandate, token }) });
    } catch (error) {
      const refused = FabricError.from(error);
      answer(refused.row.http, refused.toPayload(null));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    tokens,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
