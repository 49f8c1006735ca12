import type { ArtifactData } from './events.ts';

/** An artifact as its pieces add up. */
export type Artifact = Omit<ArtifactData, 'append' | 'last'>;

interface Pieces {
  about: Omit<Artifact, 'text' | 'data'>;
  texts: string[];
  data: string[];
}

/** Collects artifacts; a piece adds to what was sent under its id, or takes its place. */
export class ArtifactFold {
  readonly #artifacts = new Map<string, Pieces>();

  add({ append, last: _, text, data, ...about }: ArtifactData): void {
    const before = append ? this.#artifacts.get(about.id) : undefined;
    const pieces = before ?? { about, texts: [], data: [] };
    pieces.about = { ...pieces.about, ...about };
    if (text !== undefined) pieces.texts.push(text);
    if (data !== undefined) pieces.data.push(data);
    this.#artifacts.set(about.id, pieces);
  }

  /** In the order in which they first came; `undefined` when there are none. */
  artifacts(): Artifact[] | undefined {
    if (this.#artifacts.size === 0) return undefined;
    return Array.from(this.#artifacts.values(), ({ about, texts, data }) => ({
      ...about,
      ...(texts.length > 0 && { text: texts.join('') }),
      ...(data.length > 0 && { data: joinBase64(data) }),
    }));
  }
}

/** A piece may end inside a group of three bytes; then padding would stand in the middle. */
function joinBase64(pieces: readonly string[]): string {
  if (pieces.slice(0, -1).every((piece) => !piece.endsWith('='))) return pieces.join('');
  return btoa(pieces.map((piece) => atob(piece)).join(''));
}
