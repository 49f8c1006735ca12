import type { Note } from './notes.ts';

/**
 * The notes that share words with the query, the best first: rare words count for more, and among
 * equals the newer one wins.
 */
export function rankNotes(notes: readonly Note[], query: string): Note[] {
  const wanted = wordsOf(query);
  const held = notes.map((note) => wordsOf(`${note.text} ${note.tags.join(' ')}`));
  const weights = new Map(
    [...wanted].map((word) => {
      const holders = held.filter((words) => words.has(word)).length;
      return [word, Math.log(1 + notes.length / Math.max(1, holders))];
    }),
  );
  const score = (words: ReadonlySet<string>) =>
    [...weights].reduce((sum, [word, weight]) => (words.has(word) ? sum + weight : sum), 0);
  return notes
    .map((note, index) => ({ note, index, score: score(held[index] ?? new Set()) }))
    .filter((ranked) => ranked.score > 0)
    .sort((a, b) => b.score - a.score || b.index - a.index)
    .map(({ note }) => note);
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
