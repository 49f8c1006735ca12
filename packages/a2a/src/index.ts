export { isAgentCard } from './client/agent-card.ts';
export { type A2aOptions, a2aOptionsSchema } from './client/options.ts';
export { takes } from './modes.ts';
export {
  CARD_PATH,
  CONTEXT_KEY,
  LABEL_CONTEXT,
  LEGACY,
  META_BUDGET,
  META_CAPABILITY,
  META_REPLY,
  META_SKILL,
  OWN_ID,
  SCHEMAS_EXTENSION,
} from './names.ts';
export { signingAlgorithm } from './signing-key.ts';
export { a2aError, type Binding, toA2aRefusal } from './tasks/respond.ts';
