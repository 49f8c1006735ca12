export { createTrust, type TrustOptions, type TrustParts } from './create-trust.ts';
export { effectOf } from './effect.ts';
export {
  brokenLabel,
  combineLabels,
  createBlock,
  createLabeller,
  LINEAGE_BOUND,
  lowestTrust,
  type NewBlock,
  TRUST_LEVELS,
  type TrustLabeller,
} from './labels.ts';
export { PLAN_TOOL } from './plans.ts';
export { type TrustPolicy, type TrustPolicyInput, trustPolicySchema } from './policy.ts';
