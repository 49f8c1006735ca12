import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { percy } from '../src/percy.ts';
import {
  analysisSchema,
  countParts,
  countSyllables,
  findClaims,
  findLongest,
  findQuestions,
  findTerms,
  readingLevel,
  sentencesOf,
} from '../src/percy-analysis.ts';
import { textOf } from './fixtures/open-agent.ts';

const TEXT = `Agents talk past each other. Why do agents need a fabric?

A fabric must carry every call, and it never loses a word. In 2025 only 12 % of calls were traced.`;

const never = new AbortController().signal;

async function work(task: string) {
  const events = await Array.fromAsync(percy.work({ task }, never));
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
  const sentences = sentencesOf(TEXT);

  it('counts its parts', () => {
    expect(countParts(TEXT, sentences)).toMatchObject({ paragraphs: 2, sentences: 4, words: 31 });
  });

  it('finds the terms it returns to, without common words, most frequent first', () => {
    const terms = findTerms(TEXT);
    expect(terms.slice(0, 2).map(({ term }) => term)).toEqual(['agents', 'fabric']);
    expect(terms.map(({ term }) => term)).not.toContain('a');
  });

  it('tells questions from claims, and why a claim is one', () => {
    expect(findQuestions(sentences)).toEqual(['Why do agents need a fabric?']);
    expect(findClaims(sentences).map(({ because }) => because)).toEqual(['must', '2025']);
  });

  it('finds the longest sentence', () => {
    expect(findLongest(sentences)).toMatchObject({ words: 12 });
    expect(findLongest([])).toEqual({ sentence: '', words: 0 });
  });
});

describe('the reading level', () => {
  it('is easier for short words than for long ones', () => {
    const short = readingLevel('the cat sat on the mat'.split(' '), 1);
    const long = readingLevel('organisational interdependencies notwithstanding'.split(' '), 1);
    expect(short.ease).toBeGreaterThan(long.ease);
    expect(short.grade).toBeLessThan(long.grade);
    expect([short.label, long.label]).toEqual(['easy', 'hard']);
  });

  it.each([
    ['make', 1],
    ['table', 2],
    ['agent', 2],
    ['fabric', 2],
    ['capability', 5],
    ['jumped', 1],
    ['rhythm', 1],
    ['x', 1],
  ])('hears %s as %i syllables', (word, syllables) => {
    expect(countSyllables(word)).toBe(syllables);
  });
});

describe('percy', () => {
  it('says each finding word by word, and the answer is what it said', async () => {
    const { events, final } = await work(TEXT);
    const tokens = events.filter(({ type }) => type === 'token');
    expect(tokens.length).toBeGreaterThan(40);
    expect(textOf(events)).toBe(final.answer);
    expect(final.answer).toContain('It asks: "Why do agents need a fabric?"');
  });

  it('reports progress from 0 to 100, never backwards', async () => {
    const { events } = await work(TEXT);
    const percents = events.flatMap((event) =>
      event.type === 'progress' ? (event.data.percent ?? []) : [],
    );
    expect(percents).toEqual([0, 20, 40, 60, 80, 100]);
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
