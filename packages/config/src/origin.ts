/** Where a value came from. */
export type Origin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string }
  | { readonly kind: 'default' };

/** `starloom.yaml:4:3`, `$STARLOOM_LISTEN__PORT`, `--port`, `default`. */
export function showOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'file':
      return `${origin.file}:${origin.line}:${origin.column}`;
    case 'env':
      return `$${origin.name}`;
    case 'flag':
      return origin.name;
    case 'default':
      return 'default';
  }
}
