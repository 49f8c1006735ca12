export { Authorization, type AuthorizationOptions } from './authorization.ts';
export { assertOauth } from './check-options.ts';
export {
  beginLogin,
  endLogin,
  type Login,
  type LoginOptions,
  type Logout,
  type LogoutOptions,
} from './login.ts';
export { type OauthOptions, oauthOptionsSchema } from './options.ts';
