import type { AgentDetail, PinView } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act } from '../state/api.ts';
import { plural } from '../state/format.ts';
import type { Resource } from '../state/resource.ts';
import { Badge, Button, Card, Problem, Time } from '../ui/parts.tsx';
import { plainText } from '../ui/plain-text.ts';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';

export interface AgentProps {
  readonly agent: AgentDetail;
  readonly resource: Resource<AgentDetail>;
}

export function pathOf({ agent_id }: AgentDetail): string {
  return `agents/${encodeURIComponent(agent_id)}`;
}

/** Tools that are not what was approved: what changed, side by side, before anyone may call them. */
export function HeldTools({ agent, resource }: AgentProps) {
  const held = agent.pins.filter(({ state }) => state === 'held');
  const approving = useAction();
  const approve = async (tools: readonly PinView[]) => {
    const shown = tools.map(({ name, fingerprint }) => ({ name, fingerprint }));
    try {
      resource.set(await act('POST', `${pathOf(agent)}/approve`, { tools: shown }));
    } catch (problem) {
      resource.reload();
      throw problem;
    }
    notify('ok', `Approved ${plural(tools.length, 'tool')} of ${agent.agent_id}.`);
  };
  if (held.length === 0) return null;
  return (
    <Card
      id="held"
      title="Waits for approval"
      actions={
        agent.may.approve && held.length > 1 ? (
          <Button action={approving} does={() => approve(held)}>
            Approve all {held.length}
          </Button>
        ) : undefined
      }
    >
      <p class="muted">
        These tools are not what was approved. No caller can use them until an operator approves
        what they say now.
      </p>
      <Problem error={approving.error} />
      <div>
        {held.map((pin) => (
          <article class="tool" key={pin.name}>
            <div class="tool-head">
              <h3>
                <Words text={pin.name} />
              </h3>
              <Badge tone="warn">{(pin.reason ?? 'held').replaceAll('_', ' ')}</Badge>
              {pin.like && (
                <span class="muted">
                  looks like <Words text={pin.like} />
                </span>
              )}
              {pin.seen_at && (
                <span class="muted small">
                  seen <Time at={pin.seen_at} />
                </span>
              )}
              {agent.may.approve && (
                <Button
                  action={approving}
                  does={() => approve([pin])}
                  aria-label={`Approve ${pin.name}`}
                >
                  Approve
                </Button>
              )}
            </div>
            {pin.changes.map(({ field, before, after }) => (
              <div key={field}>
                <p class="small muted">{field.replaceAll('_', ' ')}</p>
                <div class="diff">
                  {before !== undefined && (
                    <div class="before">
                      <p class="small">Approved</p>
                      <pre tabIndex={0}>{shown(before)}</pre>
                    </div>
                  )}
                  <div class="after">
                    <p class="small">{before === undefined ? 'New' : 'Now'}</p>
                    <pre tabIndex={0}>{after === undefined ? '(removed)' : shown(after)}</pre>
                  </div>
                </div>
              </div>
            ))}
          </article>
        ))}
      </div>
      {!agent.may.approve && (
        <p class="muted">
          Approving needs the scope <code>admin:agents</code>.
        </p>
      )}
    </Card>
  );
}

function shown(value: unknown): string {
  return plainText(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''));
}
