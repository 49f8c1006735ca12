export { AuditLog, type AuditLogOptions, auditFiles } from './audit/audit-log.ts';
export type { AuditEntry, AuditRecord } from './audit/audit-record.ts';
export {
  type AuditFlaw,
  type AuditProblem,
  type AuditReport,
  verifyAudit,
} from './audit/verify-audit.ts';
export {
  type Authenticator,
  type AuthenticatorOptions,
  type AuthRequest,
  type BearerVerifier,
  createAuthenticator,
  type KeyAuthenticator,
  type KeyAuthenticatorOptions,
  type TokenVerifier,
} from './authenticator.ts';
export {
  ADMIN_AREAS,
  type AdminArea,
  Authoriser,
  mayAdministrate,
  mayCall,
  mayReach,
  mayUseAgent,
  mayUseAgents,
  mayUseToolset,
  scopeProblem,
} from './authorise.ts';
export { type Authority, covers, intersect, toAuthority } from './authority.ts';
export { type Budget, TraceBudgets } from './budgets.ts';
export {
  pickCredentials,
  type RequestHeaders,
  readBearer,
  readWebSocketProtocols,
  type WebSocketProtocols,
} from './credentials.ts';
export { type DenialReason, denied } from './denied.ts';
export { generateKey, hashKey, KEY_PREFIX } from './generate-key.ts';
export {
  type CreatedKey,
  createKey,
  type KeyRecord,
  type KeyState,
  listKeys,
  type NewKey,
  revokeKey,
  rotateKey,
  stateOf,
} from './keys/key-records.ts';
export { KeyRing, type KeyRingOptions } from './keys/key-ring.ts';
export {
  assertBound,
  type CertificateRule,
  type CertificateVerifier,
  type ClientCertificate,
  createCertificateVerifier,
} from './mtls.ts';
export type { OauthIssuer } from './oauth/access-token.ts';
export { isSecure } from './oauth/fetch-keys.ts';
export {
  type OauthOptions,
  OauthVerifier,
  type OauthVerifierOptions,
} from './oauth/oauth-verifier.ts';
export { ProtectedResource } from './oauth/protected-resource.ts';
export { type Identity, type IdentityOptions, openIdentity } from './open-identity.ts';
export type { Decision, Effect, PolicyAgent, PolicyCall } from './policy/policy.ts';
export {
  type Actor,
  ANONYMOUS_PRINCIPAL,
  type AuthMode,
  type Delegation,
  isMandated,
  LOCAL_PRINCIPAL,
  onBehalfOf,
  type Principal,
  toAuth,
} from './principal.ts';
export { createPskVerifier, type PskKey, type PskVerifier } from './psk.ts';
export type { RealmStore } from './realm/realm-store.ts';
export { filesOf, type ShareOptions, shareRevocations } from './realm/share-revocations.ts';
export { StoreReach } from './realm/store-reach.ts';
export {
  changeState,
  LiveFile,
  type LiveFileOptions,
  readState,
  type StateFileOptions,
} from './state/state-file.ts';
export type { MandateClaims, PassportClaims } from './tokens/claims.ts';
export { createJwks, type JwksSource } from './tokens/jwks.ts';
export {
  type Mandate,
  type VerifyMandateOptions,
  verifyMandate,
  verifyMandateChain,
} from './tokens/mandate.ts';
export {
  buildOf,
  type DelegateRequest,
  delegateRequestSchema,
  grantOf,
  Mint,
  type MintedMandate,
  type MintRequest,
} from './tokens/mint.ts';
export {
  type PassportTerms,
  type ReadPassport,
  readPassport,
  signPassport,
  signStructuredPassport,
  toPassportClaims,
} from './tokens/passport.ts';
export { ReplayMemory } from './tokens/replay-memory.ts';
export {
  Revocations,
  type Revoked,
  readEpoch,
  revoke,
  suspendGrant,
} from './tokens/revocations.ts';
export { SIGNATURE_ALGORITHMS } from './tokens/signature.ts';
export {
  JWKS_MAX_AGE_S,
  readPublicKeys,
  rotateSigningKey,
  SigningKeys,
} from './tokens/signing-keys.ts';
