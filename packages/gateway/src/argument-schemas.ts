// Arguments of a call against the capability's own JSON Schema. Schemas are foreign: compiled once
// each, never fetching a $ref, and one that cannot be compiled refuses the call.

import { argumentsFromTask, type Capability, type Envelope, FabricError } from '@starloom/core';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Input = Envelope['input'];
type Arguments = Record<string, unknown>;

const MAX_PROBLEMS = 5;

export class ArgumentSchemas {
  readonly #ajv = addFormats.default(
    new Ajv2020({ strict: false, allErrors: false, validateFormats: true, logger: false }),
  );
  readonly #compiled = new WeakMap<object, ValidateFunction>();

  /** The input with arguments that fit the capability, or BAD_INPUT. */
  toInput(capability: Capability, input: Input): Input {
    const schema = capability.input_schema;
    if (!schema) return input;
    const args = input.arguments ?? argumentsFromTask(input, schema);
    this.#assertValid(capability.name, schema, args);
    return { ...input, arguments: args };
  }

  #assertValid(capability: string, schema: Arguments, args: Arguments): void {
    const validate = this.#compile(capability, schema);
    if (validate(args)) return;
    const problems = (validate.errors ?? []).slice(0, MAX_PROBLEMS).map(toProblem);
    throw new FabricError('BAD_INPUT', `The arguments do not fit "${capability}": ${problems[0]}`, {
      details: { reason: 'arguments', capability, problems, input_schema: schema, sent: false },
    });
  }

  #compile(capability: string, schema: Arguments): ValidateFunction {
    const known = this.#compiled.get(schema);
    if (known) return known;
    try {
      const { $id: _, $schema: __, ...anonymous } = schema;
      const validate = this.#ajv.compile(anonymous);
      this.#compiled.set(schema, validate);
      return validate;
    } catch (cause) {
      throw new FabricError('UPSTREAM_ERROR', `The input schema of "${capability}" is not usable`, {
        details: { reason: 'bad_input_schema', capability, sent: false },
        cause,
      });
    }
  }
}

function toProblem({ instancePath, message, params }: ErrorObject): string {
  const where = instancePath === '' ? 'arguments' : instancePath.slice(1).replaceAll('/', '.');
  const extra = params.additionalProperty;
  return extra === undefined ? `${where} ${message}` : `${where} has no property "${extra}"`;
}
