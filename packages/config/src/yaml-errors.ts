import type { ErrorCode } from 'yaml';
import type { Complaint } from './secret.ts';

/** A syntax error in our words: the parser's own text may quote the file. */
export function wordsForYamlError(code: ErrorCode): Complaint {
  return WORDS[code] ?? FALLBACK;
}

const FALLBACK: Complaint = {
  message: 'not valid YAML here',
  fix: 'check indentation, brackets and quotes of this line and the one before',
};

const WORDS: Partial<Record<ErrorCode, Complaint>> = {
  TAB_AS_INDENT: { message: 'a tab is used as indentation', fix: 'indent with spaces' },
  BAD_INDENT: {
    message: 'bad indentation, or a bracket that is not closed',
    fix: 'align the line with its neighbours, and close every bracket',
  },
  MISSING_CHAR: {
    message: 'a ":", a quote or a bracket is missing',
    fix: 'write "key: value", and close every quote and bracket',
  },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'two entries on one line, or a line indented too far',
    fix: 'put each entry on its own line, equally indented; quote a value that contains ": "',
  },
  MULTILINE_IMPLICIT_KEY: {
    message: 'expected "key: value"',
    fix: 'add the ":" after the key, or align the line with its neighbours',
  },
  BAD_SCALAR_START: {
    message: 'the value starts with a reserved character',
    fix: 'put the value in quotes',
  },
  BAD_DQ_ESCAPE: {
    message: 'unknown escape in a double-quoted text',
    fix: 'use single quotes, or double the backslash',
  },
  MULTIPLE_DOCS: {
    message: 'a second document begins here',
    fix: 'keep one document: remove the "---" or "..." line and what follows',
  },
  TAG_RESOLVE_FAILED: { message: 'tags are not read', fix: 'remove the tag (the word after "!")' },
  BAD_DIRECTIVE: {
    message: 'this directive is not read',
    fix: 'remove the line; YAML 1.2 is read',
  },
  RESOURCE_EXHAUSTION: { message: 'nested too deeply', fix: 'nest less deeply' },
  KEY_OVER_1024_CHARS: {
    message: 'a key of more than 1024 characters',
    fix: 'check for a missing quote',
  },
};
