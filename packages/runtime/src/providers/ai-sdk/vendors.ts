export interface Vendor {
  /** Where its key stands when the configuration has none. */
  readonly keyVariable?: string;
  /** For its factory. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** For each call: its `providerOptions`. */
  readonly options?: VendorOptions;
  /** Marks the end of what it may keep for the next call: tools and system prompt. */
  readonly cacheMark?: VendorOptions;
  /** Names what it may keep, so that calls with the same tools find it again. */
  readonly cacheKey?: (key: string) => VendorOptions;
}

/** By the name of the vendor. */
export type VendorOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What packages want beyond the common; others need no row. */
export const VENDORS: Readonly<Record<string, Vendor>> = {
  '@ai-sdk/anthropic': {
    keyVariable: 'ANTHROPIC_API_KEY',
    cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  },
  // Keeps what calls have in common by itself.
  '@ai-sdk/google': { keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY' },
  // The conversation is ours to keep: nothing is stored at the vendor's, and nothing refers to it.
  '@ai-sdk/openai': {
    keyVariable: 'OPENAI_API_KEY',
    options: { openai: { store: false } },
    cacheKey: (promptCacheKey) => ({ openai: { promptCacheKey } }),
  },
  '@ai-sdk/openai-compatible': { settings: { name: 'openai-compatible', includeUsage: true } },
};
