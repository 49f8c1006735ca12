export {
  type Authenticator,
  type AuthenticatorOptions,
  type AuthRequest,
  createAuthenticator,
  type KeyAuthenticator,
  type KeyAuthenticatorOptions,
  type TokenVerifier,
} from './authenticator.ts';
export {
  ADMIN_AREAS,
  type AdminArea,
  mayAdministrate,
  mayCall,
  mayReach,
  mayUseAgent,
  mayUseAgents,
  mayUseToolset,
  scopeProblem,
} from './authorise.ts';
export {
  pickCredentials,
  type RequestHeaders,
  readBearer,
  readWebSocketProtocols,
  type WebSocketProtocols,
} from './credentials.ts';
export type { DenialReason } from './denied.ts';
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
export { type Identity, type IdentityOptions, openIdentity } from './open-identity.ts';
export {
  type Actor,
  ANONYMOUS_PRINCIPAL,
  type AuthMode,
  type Delegation,
  LOCAL_PRINCIPAL,
  type Principal,
  toAuth,
} from './principal.ts';
export { createPskVerifier, type PskKey, type PskVerifier } from './psk.ts';
