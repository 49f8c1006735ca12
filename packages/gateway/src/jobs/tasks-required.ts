import { FabricError } from '@starloom/core';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
export const MISSING_CAPABILITY = -32_021;

/** As MCP says it of a client that declared too little. */
export const REQUIRED_CAPABILITIES = { extensions: { [TASKS_EXTENSION]: {} } };

/** For a tool that answers with tasks alone, called by a client that takes none. */
export function tasksRequired(): FabricError {
  const message = 'The tool needs a client with the MCP Tasks extension';
  const data = { requiredCapabilities: REQUIRED_CAPABILITIES };
  return new FabricError('BAD_INPUT', message, {
    details: {
      reason: 'missing_client_capability',
      rpc: { code: MISSING_CAPABILITY, message, data },
      fix: `Declare the extension ${TASKS_EXTENSION}, or call with fabric.call`,
    },
  });
}
