// Percy reads a text and says, step by step, what can be seen in it. No model: each step counts
// or looks something up, and tells what it found before the next one begins.

import type { EventBody } from '@starloom/core';
import { z } from 'zod';
import { final, progress, type SampleAgent, speak } from './agent.ts';
import {
  type Analysis,
  analysisSchema,
  countParts,
  findClaims,
  findLongest,
  findQuestions,
  findTerms,
  rateReading,
  sentencesOf,
} from './percy-analysis.ts';
import { several, shorten } from './text.ts';

const MAX_CHARACTERS = 200_000;
const MAX_QUOTED = 120;

const inputSchema = z.object({
  task: z.string().min(1).max(MAX_CHARACTERS).describe('The text to think about'),
});

export const percy: SampleAgent<z.infer<typeof inputSchema>> = {
  id: 'percy',
  capability: 'reason',
  description: 'Analyses a text step by step: size, reading level, terms, questions, claims',
  input: inputSchema,
  output: analysisSchema,

  *work({ task }): Generator<EventBody> {
    const sentences = sentencesOf(task);
    let answer = '';
    const tell = function* (percent: number, step: string, finding: string) {
      const text = answer === '' ? finding : `\n${finding}`;
      answer += text;
      yield progress(percent, step);
      yield* speak(text);
    };

    const counts = countParts(task, sentences);
    yield* tell(0, 'Counting', describeCounts(counts));
    const reading = rateReading(task, sentences);
    yield* tell(20, 'Rating how hard it reads', describeReading(reading));
    const terms = findTerms(task);
    yield* tell(40, 'Looking for what it returns to', describeTerms(terms));
    const questions = findQuestions(sentences);
    const claims = findClaims(sentences);
    yield* tell(60, 'Looking for questions and claims', describeStance(questions, claims));
    const longest = findLongest(sentences);
    yield* tell(80, 'Finding the longest sentence', describeLongest(longest));

    yield progress(100, 'Done');
    yield final(answer, { counts, reading, terms, questions, claims, longest });
  },
};

function describeCounts({ paragraphs, sentences, words, distinct_words }: Analysis['counts']) {
  const parts = [several(words, 'word'), several(sentences, 'sentence')];
  return `${parts.join(' in ')}, ${several(paragraphs, 'paragraph')}; ${distinct_words} of the words are different.`;
}

function describeReading({ ease, grade, label }: Analysis['reading']) {
  return `It reads ${label}: ease ${ease} of 100, school year ${grade}.`;
}

function describeTerms(terms: Analysis['terms']) {
  if (terms.length === 0) return 'It has no word of its own.';
  return `It is about ${terms.map(({ term, count }) => `${term} (${count})`).join(', ')}.`;
}

function describeStance(questions: Analysis['questions'], claims: Analysis['claims']) {
  const [question] = questions;
  const [claim] = claims;
  const asks =
    question === undefined ? 'It asks nothing' : `It asks: "${shorten(question, MAX_QUOTED)}"`;
  if (claim === undefined) return `${asks}, and claims nothing outright.`;
  return `${asks}, and claims ("${claim.because}"): "${shorten(claim.sentence, MAX_QUOTED)}"`;
}

function describeLongest({ sentence, words }: Analysis['longest']) {
  if (words === 0) return 'There is no sentence to measure.';
  return `The longest sentence has ${several(words, 'word')}: "${shorten(sentence, MAX_QUOTED)}"`;
}

/** Percy's work under another name and another transport, for when percy is away. */
export const percyBackup: typeof percy = {
  ...percy,
  id: 'percy-backup',
  description: `Stands in for percy. ${percy.description}`,
};
