export { createTrust, type TrustOptions, type TrustParts } from './create-trust.ts';
export type { DecisionRecord } from './decision-record.ts';
export { type DecisionReport, verifyDecisions } from './decision-record.ts';
export {
  fingerprintOf,
  sanitiseDescription,
  sanitiseParameters,
  type ToolDefinition,
} from './descriptions.ts';
export { createLabeller, type TrustLabeller } from './labeller.ts';
export {
  brokenLabel,
  combineLabels,
  createBlock,
  LINEAGE_BOUND,
  lowestTrust,
  type NewBlock,
  TRUST_LEVELS,
} from './labels.ts';
export { foldersIn } from './paths.ts';
export { type TrustPolicy, type TrustPolicyInput, trustPolicySchema } from './policy.ts';
export { pinTools, ToolPins } from './tool-pins.ts';
