// What agents make, as artifacts of A2A: files and documents under their own ids, and the answer.

import type { Artifact, Part } from '@a2a-js/sdk';
import type { ArtifactData, CallResult, Artifact as FoldedArtifact } from '@starloom/core';
import { ANSWER, META_CITATIONS } from './names.ts';
import { dataPart, filePart, textPart, toArtifact } from './parts.ts';

type Block = Readonly<Record<string, unknown>>;

/** One piece, or all of it. JSON that is whole is a data part. */
export function fromArtifact(artifact: ArtifactData | FoldedArtifact): Artifact {
  const { id, name = '', media_type } = artifact;
  return toArtifact(id, name, [partOf(artifact, media_type, name)]);
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

function partOf(
  { text, data, uri }: Omit<ArtifactData, 'append' | 'last'>,
  mediaType: string,
  filename: string,
): Part {
  const json = isJson(mediaType) ? parseJson(text ?? decoded(data)) : undefined;
  if (json !== undefined) return dataPart(json);
  if (text !== undefined) return { ...textPart(text, mediaType), filename };
  if (data !== undefined) return filePart({ data }, mediaType, filename);
  return filePart({ uri: uri ?? '' }, mediaType, filename);
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
  if (typeof text === 'string') return { ...textPart(text, mediaType), filename };
  return typeof blob === 'string' ? filePart({ data: blob }, mediaType, filename) : [];
}

function isJson(mediaType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(mediaType);
}

function decoded(data: string | undefined): string {
  return data === undefined ? '' : Buffer.from(data, 'base64').toString('utf8');
}

/** `undefined` for a piece that is not whole. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
