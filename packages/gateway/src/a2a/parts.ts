// The objects of A2A in the form that the SDK keeps them in, with every field filled in.

import { type Artifact, type Message, type Part, Role } from '@a2a-js/sdk';

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

/** Bytes in base64, or where they are. */
export function filePart(
  file: { readonly data: string } | { readonly uri: string },
  mediaType: string,
  filename = '',
): Part {
  const content =
    'data' in file
      ? { $case: 'raw' as const, value: Buffer.from(file.data, 'base64') }
      : { $case: 'url' as const, value: file.uri };
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

export function toArtifact(
  artifactId: string,
  name: string,
  parts: Part[],
  metadata?: Metadata,
): Artifact {
  return { artifactId, name, description: '', parts, metadata, extensions: [] };
}
