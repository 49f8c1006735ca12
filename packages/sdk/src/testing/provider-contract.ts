// What every provider must do, checked against a model that follows a script. A test of a new
// provider is a call of `providerContract` and the wiring of the provider to a fake model.
// Failures are objects with a `code` of the table of errors and `details`.

import { describe } from 'vitest';
import { answersContract } from './contract/answers.ts';
import { failuresContract } from './contract/failures.ts';
import {
  ALL_FEATURES,
  type OpenSubject,
  type ProviderFeatures,
} from './contract/provider-subject.ts';
import { questionsContract } from './contract/questions.ts';

export function providerContract(
  name: string,
  open: OpenSubject,
  features: ProviderFeatures = {},
): void {
  const all = { ...ALL_FEATURES, ...features };
  describe(`provider contract: ${name}`, () => {
    answersContract(open, all);
    if (!all.service) return;
    failuresContract(open);
    questionsContract(open, all);
  });
}
