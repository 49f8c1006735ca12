import { FabricError, type GivenInput, type InputResponse } from '@starloom/core';
import { SchemaProblem, type SchemaValidators } from '@starloom/wire/foreign-schema';
import type { OpenQuestion } from './conversations.ts';

/**
 * The answers in the order of the questions; BAD_INPUT when one is missing, unasked or does not fit.
 * Answers in the agent's own protocol are for the agent to judge, and unasked ones are ignored.
 */
export function assertAnswers(
  questions: readonly OpenQuestion[],
  inputs: readonly GivenInput[] | undefined,
  validators: SchemaValidators,
): InputResponse[] {
  const answers = inputs ?? [];
  const given = new Map(answers.map(({ id, response }) => [id, response]));
  const stray = answers.find(
    ({ id, response }) =>
      response.native === undefined && questions.every((question) => question.id !== id),
  );
  if (stray) throw refused('no_open_question', `Nothing was asked under "${stray.id}"`, questions);
  if (given.size < answers.length) {
    throw refused('answered_twice', 'A question is answered twice', questions);
  }
  return questions.map((question) => {
    const response = given.get(question.id);
    if (!response) {
      throw refused('answer_missing', `"${question.id}" is not answered`, questions);
    }
    if (response.action === 'accept' && response.native === undefined) {
      assertFits(question, response.content, questions, validators);
    }
    return { id: question.id, ...response };
  });
}

function assertFits(
  { id, kind, schema, options }: OpenQuestion,
  content: unknown,
  questions: readonly OpenQuestion[],
  validators: SchemaValidators,
): void {
  const fail = (problem: string) => {
    throw refused(
      'answer_does_not_fit',
      `The answer to "${id}" does not fit: ${problem}`,
      questions,
    );
  };
  if (kind === 'text' && typeof field(content, 'text') !== 'string') fail('expected {"text": …}');
  if (kind === 'choice' && options?.every((option) => option.id !== field(content, 'choice'))) {
    fail(`expected {"choice": …} with one of ${options.map((option) => option.id).join(', ')}`);
  }
  if (kind !== 'form' || schema === undefined) return;
  const problem = problemWith(schema, content, validators);
  if (problem !== undefined) fail(problem);
}

/** An answer to a question whose schema cannot be used is for the agent to judge. */
function problemWith(
  schema: Record<string, unknown>,
  content: unknown,
  validators: SchemaValidators,
): string | undefined {
  try {
    return validators.problems({ type: 'object', ...schema }, content, 'content')[0];
  } catch (error) {
    if (error instanceof SchemaProblem) return undefined;
    throw error;
  }
}

function field(content: unknown, name: string): unknown {
  return typeof content === 'object' && content !== null ? Reflect.get(content, name) : undefined;
}

function refused(reason: string, message: string, questions: readonly OpenQuestion[]): FabricError {
  const open = questions.map(({ id }) => id);
  return new FabricError('BAD_INPUT', message, {
    details: { reason, open, questions, fix: 'answer each open question once, as its schema says' },
  });
}
