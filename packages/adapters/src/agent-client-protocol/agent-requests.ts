// What an agent may ask of its client, and who answers: the turn of the session for questions, the
// root of the manifest for files and programs. A session that is not known here gets nothing.

import { type ClientApp, client, methods, RequestError } from '@agentclientprotocol/sdk';
import { toFields } from '@starloom/core';
import type { EditorSession } from './agent-session.ts';
import type { ServedFiles } from './files.ts';
import { CANCELLED } from './questions.ts';
import type { Terminals } from './terminals.ts';

export interface AgentRequestsOptions {
  readonly find: (sessionId: string) => EditorSession | undefined;
  readonly files: ServedFiles;
  readonly terminals: Terminals;
}

export function answerAgent({ find, files, terminals }: AgentRequestsOptions): ClientApp {
  const turnOf = (params: unknown) => {
    const { sessionId } = toFields(params);
    return typeof sessionId === 'string' ? find(sessionId)?.running?.turn : undefined;
  };
  const known = <Params extends { sessionId: string }>(params: Params): Params => {
    if (find(params.sessionId)) return params;
    throw new RequestError(-32_002, 'There is no such session', { sessionId: params.sessionId });
  };
  const { session, fs, terminal, elicitation } = methods.client;
  return client({ name: 'starloom' })
    .onRequest(
      session.requestPermission,
      ({ params }) => turnOf(params)?.permission(params) ?? CANCELLED,
    )
    .onRequest(
      elicitation.create,
      ({ params }) => turnOf(params)?.elicit(params) ?? { action: 'cancel' },
    )
    .onRequest(fs.readTextFile, ({ params }) => files.read(known(params)))
    .onRequest(fs.writeTextFile, ({ params }) => files.write(known(params)))
    .onRequest(terminal.create, ({ params }) => terminals.create(known(params)))
    .onRequest(terminal.output, ({ params }) => terminals.output(params))
    .onRequest(terminal.waitForExit, ({ params }) => terminals.waitForExit(params))
    .onRequest(terminal.kill, ({ params }) => terminals.kill(params))
    .onRequest(terminal.release, ({ params }) => terminals.release(params));
}
