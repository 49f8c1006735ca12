// Command lines that are known by name, in the mode in which they write lines of JSON. Each row has
// the arguments of one call, and what reads its lines.

import type { ErrorCode, EventBody, Fields } from '@starloom/core';
import { ClaudeReader, CodexReader, GeminiReader, OpencodeReader } from './readers.ts';

export const PRESET_NAMES = ['claude', 'codex', 'gemini', 'opencode'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** What the program said of its failure. */
export interface CommandLineFailure {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly message: string;
  readonly text: string;
}

/** Reads the lines of one run. */
export interface CommandLineReader {
  /** Unknown lines are passed over. */
  read(line: Fields): Iterable<EventBody>;
  /** Nothing of interest follows; others are done when the program ends. */
  readonly isDone: boolean;
  readonly hasAnswer: boolean;
  readonly answer: string;
  readonly failure: CommandLineFailure | undefined;
  /** By which the conversation goes on, where it can. */
  readonly sessionId: string | undefined;
}

interface CommandLinePreset {
  /** `more` is what the manifest adds. */
  readonly args: (more: readonly string[], sessionId: string | undefined) => readonly string[];
  readonly createReader: () => CommandLineReader;
}

export const PRESETS: Readonly<Record<PresetName, CommandLinePreset>> = {
  claude: {
    args: (more, sessionId) => [
      ...['-p', '--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
      ...(sessionId === undefined ? [] : ['--resume', sessionId]),
      ...more,
    ],
    createReader: () => new ClaudeReader(),
  },
  codex: {
    args: (more, sessionId) => [
      'exec',
      ...(sessionId === undefined ? [] : ['resume']),
      ...['--json', '--skip-git-repo-check', ...more],
      ...(sessionId === undefined ? [] : [sessionId]),
      '-',
    ],
    createReader: () => new CodexReader(),
  },
  gemini: {
    args: (more) => ['--output-format', 'stream-json', ...more],
    createReader: () => new GeminiReader(),
  },
  opencode: {
    args: (more, sessionId) => [
      ...['run', '--format', 'json'],
      ...(sessionId === undefined ? [] : ['--session', sessionId]),
      ...more,
    ],
    createReader: () => new OpencodeReader(),
  },
};
