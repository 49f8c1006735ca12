import { reasonTable } from '@starloom/core';

export const failure = reasonTable({
  not_available: {
    code: 'BAD_INPUT',
    message: 'The registry kind "{kind}" is not available',
    fix: 'use yaml, postgres, package',
    details: { available: ['yaml', 'postgres', 'package'] },
  },
  package: {
    code: 'BAD_INPUT',
    message: 'The registry package {package} {what}',
    fix: 'the log has the cause; ask its makers',
  },
  registry_broken: {
    code: 'INTERNAL',
    message: 'Agent "{agent_id}" was not registered',
    fix: 'repair {file} first',
  },
  registry_unwritable: {
    code: 'INTERNAL',
    message: 'Agent "{agent_id}" was not registered',
    fix: 'let this process write the file and its folder',
  },
  unfit_for_file: {
    code: 'BAD_INPUT',
    message: 'The file would not be readable with agent "{agent_id}"{what}',
    fix: 'change it by hand',
  },
  not_writable: {
    code: 'BAD_INPUT',
    message: 'Cannot write {file} ({cause})',
    fix: 'go to a folder that you may write to',
  },
  secret_missing: {
    code: 'AGENT_OFFLINE',
    message: 'A secret of "{agent_id}" is missing: {where}',
    fix: 'set the variable, or write the file, that the manifest names there; the log names it',
    details: { sent: false },
  },
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
