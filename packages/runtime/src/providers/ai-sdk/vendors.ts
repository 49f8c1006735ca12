export interface Vendor {
  /** Where its key stands when the configuration has none. */
  readonly keyVariable?: string;
  /** For its factory. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** For each call: its `providerOptions`. */
  readonly options?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What packages want beyond the common; others need no row. */
export const VENDORS: Readonly<Record<string, Vendor>> = {
  '@ai-sdk/anthropic': { keyVariable: 'ANTHROPIC_API_KEY' },
  '@ai-sdk/google': { keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY' },
  // The conversation is ours to keep: nothing is stored at the vendor's, and nothing refers to it.
  '@ai-sdk/openai': { keyVariable: 'OPENAI_API_KEY', options: { openai: { store: false } } },
  '@ai-sdk/openai-compatible': { settings: { name: 'openai-compatible', includeUsage: true } },
};
