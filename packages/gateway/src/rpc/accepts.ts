/** Does an Accept header name the media type, and not only to refuse it? */
export function accepts(header: string | undefined, type: string): boolean {
  return header?.split(',').some((range) => isAccepted(range, type)) ?? false;
}

function isAccepted(range: string, type: string): boolean {
  const [name = '', ...params] = range.split(';').map((part) => part.trim().toLowerCase());
  return name === type && !params.some((param) => /^q\s*=\s*0(?:\.0*)?$/.test(param));
}
