// The objects of A2A in the form that the SDK keeps them in, with every field filled in.

import { type Artifact, type Message, type Part, Role } from '@a2a-js/sdk';
import {
  type ArtifactData,
  type CallResult,
  type Artifact as FoldedArtifact,
  tryParseJson,
} from '@starloom/core';
import { ANSWER, META_CITATIONS } from './names.ts';

type Metadata = Record<string, unknown>;

export function textPart(text: string, mediaType = ''): Part {
  return { content: { $case: 'text', value: text }, mediaType, filename: '', metadata: undefined };
}

export function dataPart(data: unknown): Part {
  return {
    content: { $case: 'data', value: data },
    mediaType: 'application/json',
    filename: '',
    metadata: undefined,
  };
}

type FileContent = Pick<ArtifactData, 'text' | 'data' | 'uri'>;

/** A file as text, as bytes in base64, or where it is. */
export function filePart({ text, data, uri }: FileContent, mediaType: string, filename = ''): Part {
  if (text !== undefined) return { ...textPart(text, mediaType), filename };
  const content =
    data === undefined
      ? { $case: 'url' as const, value: uri ?? '' }
      : { $case: 'raw' as const, value: Buffer.from(data, 'base64') };
  return { content, mediaType, filename, metadata: undefined };
}

/** Something that the agent says about a task. */
export function agentMessage(
  { id, contextId }: { readonly id: string; readonly contextId: string },
  messageId: string,
  parts: Part[],
): Message {
  return {
    messageId,
    contextId,
    taskId: id,
    role: Role.ROLE_AGENT,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function toArtifact(
  artifactId: string,
  name: string,
  parts: Part[],
  metadata?: Metadata,
): Artifact {
  return { artifactId, name, description: '', parts, metadata, extensions: [] };
}

// What agents make, as artifacts of A2A: files and documents under their own ids, and the answer.

type Block = Readonly<Record<string, unknown>>;

/** One piece, or all of it. JSON that is whole is a data part. */
export function fromArtifact(artifact: ArtifactData | FoldedArtifact): Artifact {
  const { id, name = '', media_type, text, data } = artifact;
  const json = isJson(media_type) ? tryParseJson(text ?? decodeText(data)) : undefined;
  const part = json === undefined ? filePart(artifact, media_type, name) : dataPart(json);
  return toArtifact(id, name, [part]);
}

/** The answer of an agent; `undefined` when it said nothing. */
export function toAnswer(result: CallResult): Artifact | undefined {
  const { answer, data, citations, content = [] } = result;
  const parts = [
    ...(answer === '' ? [] : [textPart(answer)]),
    ...content.flatMap(partOfBlock),
    ...(data === undefined ? [] : [dataPart(data)]),
  ];
  if (parts.length === 0) return undefined;
  return toArtifact(ANSWER, 'answer', parts, citations && { [META_CITATIONS]: citations });
}

/** A piece of the answer while it is being said. */
export function toAnswerPiece(text: string): Artifact {
  return toArtifact(ANSWER, 'answer', [textPart(text)]);
}

/** The blocks of an MCP result that are no text; its text is the answer. */
function partOfBlock({ type, data, mimeType, uri, name, resource }: Block): Part | [] {
  const mediaType = typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
  const filename = typeof name === 'string' ? name : '';
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return filePart({ data }, mediaType, filename);
  }
  if (type === 'resource_link' && typeof uri === 'string') {
    return filePart({ uri }, mediaType, filename);
  }
  return type === 'resource' ? partOfResource(resource) : [];
}

function partOfResource(resource: unknown): Part | [] {
  if (typeof resource !== 'object' || resource === null) return [];
  const { text, blob, mimeType, uri } = resource as Block;
  const mediaType = typeof mimeType === 'string' ? mimeType : '';
  const filename = typeof uri === 'string' ? uri : '';
  if (typeof text === 'string') return filePart({ text }, mediaType, filename);
  return typeof blob === 'string' ? filePart({ data: blob }, mediaType, filename) : [];
}

function isJson(mediaType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(mediaType);
}

function decodeText(data: string | undefined): string {
  return data === undefined ? '' : Buffer.from(data, 'base64').toString('utf8');
}
