import type { CallRow } from '../api-types.ts';
import { Badge, Status } from './parts.tsx';

export function CallStatusBadge({ call }: { call: CallRow }) {
  if (call.status === 'error') return <Badge tone="bad">{call.error_code ?? 'error'}</Badge>;
  if (call.status === 'input_required') return <Badge tone="warn">asks</Badge>;
  if (call.status === 'ok' && call.fallback) return <Badge tone="warn">fell back</Badge>;
  return <Status value={call.status} />;
}
