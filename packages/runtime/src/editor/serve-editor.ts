import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import type { EditorFace } from './editor-face.ts';

export interface ServedEditor {
  /** Resolves when the editor has left. */
  readonly closed: Promise<void>;
  close(): void;
}

/** The editor has started this process: its input and output are the connection. */
export function serveEditor(face: EditorFace, input: Readable, output: Writable): ServedEditor {
  const connection = face.connect(ndJsonStream(Writable.toWeb(output), Readable.toWeb(input)));
  return { closed: connection.closed, close: () => connection.close() };
}
