import type { MayUse } from '@starloom/coordination';
import { mayUseToolset } from '@starloom/identity';

/** Who may use `/rpc`, the paths of its services, and sessions as resources. */
export const mayUseCoordination: MayUse = ({ scopes = [], tier = 'public' }) =>
  mayUseToolset({ scopes, tier }, 'coordination');
