import { reasonTable } from '@starloom/core';

export const failure = reasonTable({
  command: {
    code: 'BAD_INPUT',
    message: 'This gateway runs no command for "{agent_id}": {what}',
    fix: 'register an agent with an http endpoint, or let registry.commands allow the command',
  },
  secret: {
    code: 'BAD_INPUT',
    message: 'This gateway uses no secret of its own for "{agent_id}": {what}',
    fix: 'leave the reference out, or let registry.secrets allow its name',
  },
  url: {
    code: 'BAD_INPUT',
    message: 'The gateway does not call the URL of "{agent_id}": {what}',
    fix: 'register an http or https address without a user name, of a machine that serves agents',
  },
  tier: {
    code: 'BAD_INPUT',
    message: 'The key of "{agent_id}" has the tier {own}: its agent cannot have the tier {asked}',
    fix: 'write trust_tier: {own} or a lower one',
  },
  rights: {
    code: 'BAD_INPUT',
    message: 'An agent cannot give itself rights: {what}',
    fix: 'leave it out, or ask the operator of the gateway to add the agent',
  },
  newer_store: {
    code: 'OVERLOADED',
    message: 'The registry database was written by a newer version',
    fix: 'Use the newer version of starloom',
  },
  migration_changed: {
    code: 'OVERLOADED',
    message: 'The step "{name}" of the registry database is not the one of this version',
    fix: 'Restore the database from a backup, or let an empty one be filled again',
  },
});
