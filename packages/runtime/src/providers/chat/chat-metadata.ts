/** Under this key stands what a chat service wants back as it was. */
export const METADATA_KEY = 'openai-compatible';
