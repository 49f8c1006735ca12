/** Whether one of the modes accepts a media type; every text counts as plain text. */
export function takes(modes: readonly string[], mediaType: string): boolean {
  const [type = ''] = mediaType.split(';', 1);
  const asked = type.trim().toLowerCase();
  if (asked.startsWith('text/') || asked.endsWith('+json')) return true;
  return modes.some((mode) => {
    if (mode === '*/*' || mode === asked) return true;
    return mode.endsWith('/*') && asked.startsWith(mode.slice(0, -1));
  });
}
