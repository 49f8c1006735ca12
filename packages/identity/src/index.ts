export {
  type Authenticator,
  type AuthenticatorOptions,
  type AuthRequest,
  createAuthenticator,
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
  ANONYMOUS_PRINCIPAL,
  type AuthMode,
  LOCAL_PRINCIPAL,
  type Principal,
  toAuth,
} from './principal.ts';
export { createPskVerifier, type PskKey, type PskVerifier } from './psk.ts';
