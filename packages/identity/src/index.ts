export { type AuditLogOptions, auditFiles } from './audit/audit-files.ts';
export { AuditLog } from './audit/audit-log.ts';
export type { AuditEntry, AuditRecord } from './audit/audit-record.ts';
export { type AuditReport, verifyAudit } from './audit/verify-audit.ts';
export {
  type Authenticator,
  type AuthenticatorOptions,
  type AuthRequest,
  createAuthenticator,
  pickCredentials,
  type RequestHeaders,
  readBearer,
} from './authenticator.ts';
export {
  type AdminArea,
  Authoriser,
  isRegistryOperator,
  mayAdministrate,
  mayCall,
  mayReach,
  mayRegister,
  mayRegisterSome,
  mayUseAgent,
  mayUseAgents,
  mayUseToolset,
  scopeProblem,
} from './authorise.ts';
export { covers, intersect, toAuthority } from './authority.ts';
export { type Budget, TraceBudgets } from './budgets.ts';
export { readWebSocketProtocols } from './credential-carriers.ts';
export {
  type CreatedKey,
  createKey,
  type KeyRecord,
  type KeyState,
  listKeys,
  revokeKey,
  rotateKey,
  stateOf,
} from './keys/key-records.ts';
export { KeyRing } from './keys/key-ring.ts';
export {
  assertBound,
  type CertificateRule,
  type ClientCertificate,
  createCertificateVerifier,
} from './mtls.ts';
export {
  fetchIssuerMetadata,
  isSecure,
  SIGNATURE_ALGORITHMS,
  secureAddressIn,
} from './oauth/issuer-keys.ts';
export { type OauthOptions, OauthVerifier } from './oauth/oauth-verifier.ts';
export { ProtectedResource } from './oauth/protected-resource.ts';
export { type Identity, openIdentity } from './open-identity.ts';
export type { PolicyAgent, PolicyCall } from './policy/facts.ts';
export type { Decision, Effect } from './policy/rules.ts';
export {
  type Delegation,
  grantOf,
  isMandated,
  LOCAL_PRINCIPAL,
  onBehalfOf,
  type Principal,
  toAuth,
  toRecordedFacts,
} from './principal.ts';
export {
  createPskVerifier,
  generateKey,
  hashKey,
  type KnownKeys,
  type PskKey,
  type PskVerifier,
} from './psk.ts';
export { PostgresRealm } from './realm/postgres-realm.ts';
export { type RealmStore, type StoreFollower, StoreReach } from './realm/realm-store.ts';
export { filesOf, shareRevocations } from './realm/revocation-sync.ts';
export {
  followFile,
  type Realm,
  type SharedEntries,
  type SharedFile,
  shareFile,
} from './realm/shared-file.ts';
export { shareIdentity } from './realm/shared-identity.ts';
export { denied } from './reasons.ts';
export { changeState, LiveFile, readState, type StateFileOptions } from './state/state-file.ts';
export {
  createJwks,
  type Mandate,
  ReplayMemory,
  type VerifyMandateOptions,
  verifyMandate,
  verifyMandateChain,
} from './tokens/mandate.ts';
export { buildOf, type DelegateRequest, delegateRequestSchema, Mint } from './tokens/mint.ts';
export {
  type PassportTerms,
  readPassport,
  signPassport,
  signStructuredPassport,
  toPassportClaims,
} from './tokens/passport.ts';
export { listRevocations, readEpoch, revoke, suspendGrant } from './tokens/revocations.ts';
export {
  JWKS_MAX_AGE_S,
  readPublicKeys,
  rotateSigningKey,
  SigningKeys,
} from './tokens/signing-keys.ts';
