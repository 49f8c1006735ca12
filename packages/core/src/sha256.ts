/** Of the text in UTF-8; for names and pins. */
export function sha256Hex(text: string): string {
  // Loaded with the first use: threads that only need the words of core never load it.
  return process.getBuiltinModule('node:crypto').hash('sha256', text);
}
