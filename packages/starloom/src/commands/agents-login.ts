// `starloom agents login`: a person opens a link, agrees, and the browser brings the answer back to
// this machine. The tokens go into the state folder; a running gateway reads them with its next call.

import { beginLogin, endLogin } from '@starloom/adapters';
import { FabricError, type Manifest } from '@starloom/core';
import { anchorSecretFiles, readAgentsFile, resolveEndpoint } from '@starloom/registry';
import type { GlobalOptions } from '../global-options.ts';
import { OPTION_SCHEMAS } from '../option-schemas.ts';
import { line, toSafeJson } from '../plain-text.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { findAgentsPlace } from './agents-place.ts';
import { unknownAgent } from './agents-remove.ts';
import { RedirectListener } from './redirect-listener.ts';

export interface LoginCommandOptions extends GlobalOptions {
  readonly scope?: string;
}

const WAIT_MS = 10 * 60_000;

export async function loginToAgent(
  terminal: Terminal,
  agentId: string,
  options: LoginCommandOptions,
): Promise<void> {
  const manifest = await findManifest(terminal, agentId, options);
  await using redirect = new RedirectListener();
  await using login = await beginLogin({
    manifest,
    stateFolder: await makeStateFolder(terminal.env),
    scope: options.scope,
    listen: (port) => redirect.listen(port),
  });
  const { link, issuer } = login;
  if (options.json) terminal.print(toSafeJson({ event: 'link', agent_id: agentId, link, issuer }));
  else {
    terminal.tell(line`Open this link to log in to ${agentId} at ${issuer}:\n`);
    terminal.print(link);
    terminal.tell('\nwaiting for the answer of the browser; Ctrl-C ends it');
  }
  const answer = await redirect.answer(login.isOurs, WAIT_MS);
  try {
    await login.finish(answer.params);
  } catch (error) {
    const { message } = FabricError.from(error);
    await answer.reply(400, `${message}. See the terminal.`);
    throw error;
  }
  await answer.reply(200, `Logged in to ${agentId}. You can close this page.`);
  if (options.json) terminal.print(toSafeJson({ event: 'logged_in', agent_id: agentId }));
  else terminal.tell(`logged in to ${agentId}`);
}

/** The tokens are gone from this machine afterwards, whatever the server says. */
export async function logoutFromAgent(
  terminal: Terminal,
  agentId: string,
  options: GlobalOptions,
): Promise<void> {
  const manifest = await findManifest(terminal, agentId, options);
  const stateFolder = await makeStateFolder(terminal.env);
  const { wasLoggedIn, isRevoked } = await endLogin({ manifest, stateFolder });
  if (options.json) {
    const event = { event: 'logged_out', agent_id: agentId };
    terminal.print(toSafeJson({ ...event, was_logged_in: wasLoggedIn, revoked: isRevoked }));
  } else if (!wasLoggedIn) terminal.tell(`there was no login to ${agentId}`);
  else if (isRevoked) terminal.tell(`logged out of ${agentId}; the server revoked the tokens`);
  else {
    terminal.tell(`removed the tokens of ${agentId}; the server did not revoke them,`);
    terminal.tell('so they expire by themselves');
  }
}

async function findManifest(
  terminal: Terminal,
  agentId: string,
  options: GlobalOptions,
): Promise<Manifest> {
  await using place = await findAgentsPlace(terminal, options);
  const { file, folder, isNew } = place;
  const agents = isNew ? [] : await readAgentsFile(file, { optionSchemas: OPTION_SCHEMAS });
  const manifest = agents.find(({ agent_id }) => agent_id === agentId);
  if (manifest === undefined) throw unknownAgent(agentId, agents, place);
  return await resolveEndpoint(anchorSecretFiles(manifest, folder), terminal.env);
}
