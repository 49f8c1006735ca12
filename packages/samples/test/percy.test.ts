import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { analyse, analysisSchema, percy, sentencesOf } from '../src/percy.ts';
import { textOf } from './fixtures/open-agent.ts';

const TEXT = `Agents talk past each other. Why do agents need a fabric?

A fabric must carry every call, and it never loses a word. In 2025 only 12 % of calls were traced.`;

async function work(task: string) {
  const events = await Array.fromAsync(percy.work({ task }));
  const last = events.at(-1);
  if (last?.type !== 'final') throw new Error('percy ended without a final event');
  return { events, final: last.data };
}

describe('sentences', () => {
  it('end at full stops, paragraphs, headings and list items', () => {
    expect(sentencesOf('# Title\n- first item\n- second item\n\nOne. Two? Three!')).toEqual([
      '# Title',
      '- first item',
      '- second item',
      'One.',
      'Two?',
      'Three!',
    ]);
  });

  it('are no sentences without a letter or digit', () => {
    expect(sentencesOf('… --- !!!\n\n***')).toEqual([]);
  });
});

describe('the analysis of a text', () => {
  const { counts, terms, questions, longest } = analyse(TEXT);

  it('counts its parts', () => {
    expect(counts).toEqual({ paragraphs: 2, sentences: 4, words: 31 });
  });

  it('finds the terms it returns to, without common words, most frequent first', () => {
    expect(terms.slice(0, 2).map(({ term }) => term)).toEqual(['agents', 'fabric']);
    expect(terms.map(({ term }) => term)).not.toContain('a');
  });

  it('finds the questions and the longest sentence', () => {
    expect(questions).toEqual(['Why do agents need a fabric?']);
    expect(longest).toMatchObject({ words: 12 });
    expect(analyse('…').longest).toEqual({ sentence: '', words: 0 });
  });
});

describe('percy', () => {
  it('says each finding word by word, and the answer is what it said', async () => {
    const { events, final } = await work(TEXT);
    const tokens = events.filter(({ type }) => type === 'token');
    expect(tokens.length).toBeGreaterThan(30);
    expect(textOf(events)).toBe(final.answer);
    expect(final.answer).toContain('It asks: "Why do agents need a fabric?"');
  });

  it('reports progress from 0 to 100, never backwards', async () => {
    const { events } = await work(TEXT);
    const percents = events.flatMap((event) =>
      event.type === 'progress' ? (event.data.percent ?? []) : [],
    );
    expect(percents).toEqual([0, 25, 50, 75, 100]);
  });

  it('answers any text with one final event, last, whose data keep to the schema', async () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 400 }));
    await fc.assert(
      fc.asyncProperty(text, async (task) => {
        const { events, final } = await work(task);
        expect(events.filter(({ type }) => type === 'final')).toHaveLength(1);
        expect(analysisSchema.safeParse(final.data).error).toBeUndefined();
        expect(textOf(events)).toBe(final.answer);
      }),
    );
  });
});
