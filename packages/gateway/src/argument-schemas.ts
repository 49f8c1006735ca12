// Arguments of a call against the capability's own JSON Schema. One that cannot be used refuses the
// call, and no other: tools are listed whatever their schemas are.

import {
  argumentsFromTask,
  type Capability,
  type Envelope,
  FabricError,
  suggestionFor,
} from '@starloom/core';
import { SchemaProblem, type SchemaValidators } from '@starloom/wire/foreign-schema';
import { failure } from './reasons.ts';

type Input = Envelope['input'];
type Arguments = Record<string, unknown>;

export class ArgumentSchemas {
  readonly #validators: SchemaValidators;

  constructor(validators: SchemaValidators) {
    this.#validators = validators;
  }

  /** The input with arguments that fit the capability, or BAD_INPUT. */
  toInput(capability: Capability, input: Input): Input {
    const schema = capability.input_schema;
    if (!schema) return input;
    const args = input.arguments ?? argumentsFromTask(input, schema);
    this.#assertValid(capability.name, schema, args);
    return { ...input, arguments: args };
  }

  #assertValid(capability: string, schema: Arguments, args: Arguments): void {
    const problems = this.#problems(capability, schema, args);
    if (problems.length === 0) return;
    throw new FabricError('BAD_INPUT', `The arguments do not fit "${capability}": ${problems[0]}`, {
      details: {
        reason: 'arguments',
        capability,
        problems,
        input_schema: schema,
        sent: false,
        ...misspelt(schema, args),
      },
    });
  }

  #problems(capability: string, schema: Arguments, args: Arguments): string[] {
    try {
      return this.#validators.problems(schema, args, 'arguments');
    } catch (cause) {
      if (!(cause instanceof SchemaProblem)) throw cause;
      throw failure('bad_input_schema', { capability, problem: cause.message }, { cause });
    }
  }
}

/** A name of an argument that the schema does not have, but one like it. */
function misspelt({ properties }: Arguments, args: Arguments): { readonly fix?: string } {
  const known = Object.keys(Object(properties));
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  const [fix] = unknown.flatMap((name) => suggestionFor(name, known) ?? []);
  return fix === undefined ? {} : { fix };
}
