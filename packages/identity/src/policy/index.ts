export { compileExpression } from './expression.ts';
export {
  fromGivenAgent,
  fromGivenCall,
  fromGivenPrincipal,
  fromRecordedFacts,
  givenAgentSchema,
  givenCallFields,
  givenPrincipalSchema,
} from './facts.ts';
export { Policy } from './policy.ts';
export {
  BUILT_IN_RULES,
  EFFECTS,
  type Effect,
  NO_RULES,
  type PolicySpec,
  type RuleSpec,
} from './rules.ts';
