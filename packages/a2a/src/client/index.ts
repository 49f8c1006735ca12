export { A2aClient } from './a2a-client.ts';
export type { A2aTarget } from './agent-link.ts';
