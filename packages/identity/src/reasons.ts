// Why identity refuses or fails. No sentence shows a credential.

import { FabricError, reasonTable, rowsOf } from '@starloom/core';

const refusal = rowsOf('AUTH_DENIED');
const badInput = rowsOf('BAD_INPUT');
const overloaded = rowsOf('OVERLOADED');
const forbidden = rowsOf('POLICY_DENIED');

const SEND_KEY = 'send "Authorization: Bearer <key>" with a key that is known here';
const ONE_HEADER = 'send one header "Authorization: Bearer <key>"';
const ONE_TOKEN = 'send one header "{header}" with one token in it';
const ONE_PROTOCOL = 'offer the subprotocol "bearer.<base64url of the key>" once, beside "mcp"';
const AS_GIVEN = 'send the token as it was given to you';
const NEW_PASSPORT = 'ask for another one: "starloom passport create"';
const NEW_TOKEN = 'get another access token from the authorization server';
const MINT = 'let the gateway mint a mandate for this call';
const SET_CLOCK = 'set the clock of this machine right';
const FREE_SPACE = 'Free space on the disk of the state folder';

export const failure = reasonTable({
  missing: refusal('The request has no credentials', SEND_KEY),
  unknown_key: refusal('The key is not known', SEND_KEY),
  unsupported: refusal('Passports are not accepted here', SEND_KEY),
  several_credentials: refusal('The request has two credentials', SEND_KEY),
  'several_credentials/bearer': refusal('The request has two Authorization headers', ONE_HEADER),
  'several_credentials/token': refusal('The request has two headers "{header}"', ONE_TOKEN),
  'several_credentials/protocol': refusal('Two bearer subprotocols are offered', ONE_PROTOCOL),
  'malformed/bearer': refusal('The Authorization header is not "Bearer <key>"', ONE_HEADER),
  'malformed/header': refusal('The header "{header}" is empty or too long', ONE_TOKEN),
  'malformed/protocol': refusal('The bearer subprotocol cannot be read', ONE_PROTOCOL),
  'malformed/http': refusal('A bearer subprotocol is for WebSockets only', SEND_KEY),
  'malformed/url': refusal('The URL of the request cannot be read', ONE_HEADER),
  credential_in_url: refusal(
    'Credentials in the URL are not accepted',
    `take it out of the URL and ${ONE_HEADER}; make a new key, since URLs are logged`,
  ),
  unknown_certificate: refusal(
    'No rule names the client certificate',
    'add a rule for its names under auth.mtls, or send another credential',
  ),
  bound_to_key: refusal(
    'The token is bound to a key, and no proof of it is taken here',
    'get a token that is bound to nothing, or to a client certificate',
  ),
  'bound_to_key/certificate': refusal(
    'The token is bound to another client certificate',
    'connect with the client certificate that the token was made for',
  ),
  'bound_to_key/mandate': refusal(
    'The mandate is bound to a key, and came without a proof',
    NEW_PASSPORT,
  ),

  'malformed/token': refusal('The token is malformed: {what}', AS_GIVEN),
  'malformed/passport': refusal('The passport is too long', 'name fewer capabilities in it'),
  wrong_type: refusal('A token of type {type} is expected here', AS_GIVEN),
  'wrong_type/access_token': refusal('The token is no access token', NEW_TOKEN),
  'wrong_type/id_token': refusal('The token is an ID token', 'send the access token instead'),
  bad_signature: refusal('The signature of the token is wrong', AS_GIVEN),
  unknown_signer: refusal(
    'The key that signed the token is not known',
    'ask for another token: its signing key is not in use any more',
  ),
  'unknown_signer/keys': refusal(
    'The keys of the issuer cannot be read',
    'check the address of the JWKS, and whether the gateway runs',
  ),
  issuer_unavailable: refusal(
    'The keys of the token issuer cannot be read',
    'try again later; the operator finds the cause in the log of the gateway',
  ),
  bad_claims: refusal('The claims of the token are not valid: {claims}', NEW_PASSPORT),
  wrong_issuer: refusal('Another issuer made the token', NEW_PASSPORT),
  'wrong_issuer/access_token': refusal(
    'The issuer of the token is not accepted',
    'use an issuer that auth.oauth.issuers names',
  ),
  'wrong_audience/passport': refusal(
    'The passport is for another gateway',
    'use it at the gateway that issued it',
  ),
  'wrong_audience/mandate': refusal('The mandate is not for the agent {agent_id}', MINT),
  'wrong_audience/access_token': refusal(
    'The token is not for this gateway alone',
    'ask for a token with this gateway as resource (RFC 8707), and for no other',
  ),
  lives_too_long: refusal('The token lives longer than {limit_s} seconds', NEW_PASSPORT),
  not_yet_valid: refusal('The clock is behind: the token is not valid yet', SET_CLOCK),
  expired: refusal('The token has expired', NEW_PASSPORT),
  'expired/caller': refusal('The credential of the caller has expired', 'log in'),
  revoked: refusal('The grant of the token was revoked', 'ask for another one'),
  'revoked/passport': refusal(
    'The credential is revoked',
    'ask the operator of the gateway for another passport',
  ),
  suspended: refusal(
    'The credential is suspended',
    'ask the operator of the gateway for another passport',
  ),
  replayed: refusal('The mandate was used before', MINT),
  'replayed/over': refusal(
    'The call of the mandate is over',
    'use a mandate only while its call lasts',
  ),
  broken_chain: refusal('The chain of the mandate is broken: {what}', MINT),
  wider_than_parent: refusal('The mandate is wider than its parent: {what}', MINT),
  'wider_than_parent/capability': refusal('The mandate does not cover this capability', MINT),
  too_deep: refusal('The mandate is deeper than its grant allows', MINT),

  insufficient_scope: forbidden(
    'The access token lacks a scope',
    'get a token with the scopes {scope}',
  ),
  not_granted: forbidden(
    'The caller may not hand on what it asks for',
    'ask for less, or let "auth.may_call" of the agent and the grant of the caller name it',
  ),
  'too_deep/grant': forbidden(
    'The grant ends at {limit} mandates in a chain',
    'use a passport with a larger --depth',
  ),
  mandate_too_large: forbidden(
    'The mandate would be too large',
    'name fewer capabilities in "auth.may_call"',
  ),
  budget_spent: forbidden(
    'The budget of {of} of this trace is spent',
    'begin another trace, or raise limits.budget_calls or limits.budget_ms',
  ),

  bad_key: badInput('The key "{key_id}" {what}', 'give it a long random key of its own'),
  'usage/key': badInput('The key "{key_id}" cannot be created'),
  key_exists: badInput('A key "{key_id}" exists already', 'choose another id, or rotate the key'),
  'unknown_key/state': badInput(
    'There is no key "{key_id}" in the state folder',
    'see "starloom keys list"; keys under auth.psk are changed in starloom.yaml',
  ),
  key_not_active: badInput(
    'The key "{key_id}" is {state} and cannot be rotated',
    'create another key',
  ),
  'config/state': badInput(
    'The file {file} cannot be used: {why}',
    'restore it from a backup, or remove it',
  ),
  'disk_full/state': overloaded(
    'The disk is full: {file} cannot be written',
    `${FREE_SPACE}, then try again`,
  ),
  'disk_full/audit': overloaded(
    'The audit log cannot be written',
    `${FREE_SPACE}; no restart is needed`,
  ),
  audit_unavailable: overloaded(
    'The audit log cannot be written',
    'Make the folder of the audit log writable',
  ),
  clock_behind: overloaded(
    'The clock is behind: the signing key is in use from {use_from}, and it is {now}',
    `${SET_CLOCK}; if it is right, wait, or run "starloom keys rotate --signing --at-once"`,
  ),
  realm_busy: overloaded(
    'Other gateways change the revocations all the time',
    'wait: the gateway tries again',
  ),
});

/** AUTH_DENIED for reasons that other packages give. */
export function denied(reason: string, message: string, fix: string): FabricError {
  return new FabricError('AUTH_DENIED', message, { details: { reason, fix } });
}
