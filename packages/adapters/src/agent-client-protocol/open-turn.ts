// From an envelope to a prompt at the agent: all that may fail before anything is sent, then the turn.

import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import {
  type Attachment,
  type CallContext,
  type Capability,
  type Envelope,
  FabricError,
  orAborted,
  readTask,
  toMandateMeta,
  toMeta,
} from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { toContextText } from '../upstream/prompt-text.ts';
import type { AgentClientConnection } from './agent-connection.ts';
import type { AgentClientProtocolOptions } from './options.ts';
import { PromptTurn } from './prompt-turn.ts';
import {
  type EditorSession,
  lostSession,
  refusedSession,
  type SessionHandle,
  toHandle,
} from './sessions.ts';

export interface OpenTurnOptions {
  readonly envelope: Envelope;
  readonly context: CallContext;
  readonly capability: Capability;
  readonly handle: SessionHandle | undefined;
  readonly options: AgentClientProtocolOptions;
  readonly excerpt: Excerpt;
}

export interface OpenTurn {
  readonly turn: PromptTurn;
  /** The call is over for us: an agent still at work is asked to stop. Called once. */
  readonly leave: () => void;
}

/** Rejects before anything is sent. */
export async function openTurn(
  connection: AgentClientConnection,
  asked: OpenTurnOptions,
): Promise<OpenTurn> {
  const { envelope, context, capability, handle } = asked;
  const { signal, keep } = context;
  connection.enter();
  let opened: EditorSession | undefined;
  try {
    const { agentCapabilities } = await orAborted(connection.ready, signal);
    const allowed = agentCapabilities?.promptCapabilities ?? {};
    const prompt = toPromptBlocks(envelope.input, capability, allowed);
    const session = handle
      ? await takeUp(connection, handle, signal)
      : await connection.open(signal);
    if (!handle) opened = session;
    const endTurn = await waitForTurn(session, signal);
    const turn = new PromptTurn(asked, () => keep?.(toHandle(session.id, connection.id)));
    try {
      const _meta = { ...toMeta(envelope.trace, envelope.hop), ...toMandateMeta(context) };
      const ended = connection.prompt(session, { prompt, _meta }, turn);
      void ended.then(() => {
        endTurn();
        const isKept = handle !== undefined || (turn.isAnswered && keep !== undefined);
        if (!isKept) void connection.closeSession(session.id);
      });
    } catch (error) {
      endTurn();
      throw error;
    }
    const leave = () => {
      void connection.cancel(session, turn);
      connection.leave();
    };
    return { turn, leave };
  } catch (error) {
    if (opened) void connection.closeSession(opened.id);
    connection.leave();
    throw error;
  }
}

async function takeUp(
  connection: AgentClientConnection,
  handle: SessionHandle,
  signal: AbortSignal,
): Promise<EditorSession> {
  const session = connection.holds(handle);
  if (session) return session;
  if (!connection.canResume) throw lostSession(handle);
  return connection.resume(handle.session_id, signal).catch((error: unknown) => {
    throw refusedSession(handle, FabricError.from(error));
  });
}

/** A turn that the caller left must not block the turns behind it. */
async function waitForTurn(session: EditorSession, signal: AbortSignal): Promise<() => void> {
  const taken = session.takeTurn();
  try {
    return await orAborted(taken, signal);
  } catch (error) {
    void taken.then((end) => end());
    throw error;
  }
}

/**
 * What a caller gave, as the content blocks of a prompt. Text and links are always allowed; the
 * rest needs a capability that the agent declared. Nothing is dropped: what has no place is
 * BAD_INPUT.
 */
export function toPromptBlocks(
  input: Envelope['input'],
  capability: Capability,
  capabilities: PromptCapabilities,
): ContentBlock[] {
  const { text, rest } = readTask(input);
  const command = capability.tool?.startsWith('/') ? capability.tool : undefined;
  const words = [command, text].filter((part) => part !== undefined && part !== '').join(' ');
  const blocks: ContentBlock[] = words === '' ? [] : [{ type: 'text', text: words }];
  if (Object.keys(rest).length > 0) blocks.push(toContext(rest, capabilities));
  const given = input.attachments.map((each, at) => toBlock(each, at, capabilities));
  if (blocks.length + given.length > 0) return [...blocks, ...given];
  throw failure('empty_prompt');
}

function toContext(
  context: Readonly<Record<string, unknown>>,
  { embeddedContext }: PromptCapabilities,
): ContentBlock {
  if (!embeddedContext) return { type: 'text', text: toContextText(context) };
  const text = JSON.stringify(context);
  const resource = { uri: 'starloom:context', mimeType: 'application/json', text };
  return { type: 'resource', resource };
}

function toBlock(
  attachment: Attachment,
  at: number,
  capabilities: PromptCapabilities,
): ContentBlock {
  const { media_type: mimeType, name = `attachment-${at + 1}`, data, text, uri } = attachment;
  const [kind] = mimeType.split('/');
  if (data !== undefined && kind === 'image' && capabilities.image) {
    return { type: 'image', mimeType, data };
  }
  if (data !== undefined && kind === 'audio' && capabilities.audio) {
    return { type: 'audio', mimeType, data };
  }
  const place = uri ?? `attachment:${encodeURIComponent(name)}`;
  if (text !== undefined && capabilities.embeddedContext) {
    return { type: 'resource', resource: { uri: place, mimeType, text } };
  }
  if (data !== undefined && capabilities.embeddedContext) {
    return { type: 'resource', resource: { uri: place, mimeType, blob: data } };
  }
  if (data === undefined && text === undefined && uri !== undefined) {
    return { type: 'resource_link', uri, name, mimeType };
  }
  throw failure('attachments_unsupported/type', { attachment: name, media_type: mimeType });
}
