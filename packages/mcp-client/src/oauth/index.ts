export { Authorization, type AuthorizationOptions } from './authorization.ts';
export { beginLogin, type Login, type LoginOptions } from './begin-login.ts';
export { assertOauth } from './check-options.ts';
export { endLogin, type Logout, type LogoutOptions } from './end-login.ts';
export { type OauthOptions, oauthOptionsSchema } from './options.ts';
