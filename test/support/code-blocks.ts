export interface CodeBlock {
  readonly language: string;
  readonly code: string;
}

/** The fenced blocks of a Markdown page. */
export function codeBlocks(page: string): CodeBlock[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```/gms)].map(([, language = '', code = '']) => ({
    language,
    code,
  }));
}
