import { useSignal } from '@preact/signals';
import type { ConfigValue, ConfigView } from '../api-types.ts';
import { useResource } from '../state/resource.ts';
import { who } from '../state/session.ts';
import { THEMES, theme } from '../state/theme.ts';
import { PlainTable } from '../ui/data-table.tsx';
import { bound, Check, FilterText, Segments, titlesOf } from '../ui/fields.tsx';
import { setSingleKeys, singleKeys } from '../ui/keys.ts';
import { Badge, Card, CodeBlock, Facts, Loaded, PageHead, Time } from '../ui/parts.tsx';
import { plainText } from '../ui/plain-text.ts';
import { chosen, Tabs } from '../ui/tabs.tsx';

const VIEWS = ['connect', 'configuration', 'you'] as const;
const TITLES = { connect: 'Connect your client', configuration: 'Configuration', you: 'You' };

export function Settings() {
  const view = chosen('tab', VIEWS);
  const config = useResource<ConfigView>('config');
  return (
    <div class="screen">
      <PageHead title="Settings" />
      <Tabs label="View" parameter="tab" titles={TITLES} current={view} />
      {view === 'you' && <You />}
      {view !== 'you' && (
        <Loaded from={config}>
          {(data) =>
            view === 'connect' ? <Connect config={data} /> : <Configuration config={data} />
          }
        </Loaded>
      )}
    </div>
  );
}

function Connect({ config }: { config: ConfigView }) {
  return (
    <>
      <p class="muted">
        Each uses <code>$&#123;STARLOOM_KEY&#125;</code> where the key belongs. The page does not
        know your key.
      </p>
      <div class="columns">
        {config.connect.map(({ client, title, file, text }) => (
          <Card key={client} title={title}>
            {file && (
              <p class="small muted">
                In <code>{file}</code>
              </p>
            )}
            <CodeBlock text={text} label={`For ${title}`} />
          </Card>
        ))}
      </div>
    </>
  );
}

function Configuration({ config }: { config: ConfigView }) {
  const words = useSignal('');
  const onlySet = useSignal(false);
  const rows = config.values.filter(
    ({ key, origin }) =>
      key.includes(words.value.trim()) && (!onlySet.value || origin !== 'default'),
  );
  return (
    <Card
      title="What is in effect"
      actions={config.path && <span class="muted small">read from {config.path}</span>}
    >
      <search class="filters">
        <FilterText label="Filter keys" {...bound(words)} />
        <Check label="Only what is set" {...bound(onlySet)} />
      </search>
      <PlainTable<ConfigValue>
        label="Configuration"
        rows={rows}
        rowKey={({ key }) => key}
        columns={[
          { title: 'Key', cell: ({ key }) => <code>{key}</code> },
          {
            title: 'Value',
            cell: ({ value, secret }) =>
              secret ? (
                <Badge tone="quiet">secret, not shown</Badge>
              ) : (
                <code>{plainText(JSON.stringify(value) ?? '').slice(0, 400)}</code>
              ),
          },
          {
            title: 'Comes from',
            cell: ({ origin, where }) => (
              <>
                <Badge tone={origin === 'default' ? 'quiet' : 'info'}>{origin}</Badge>{' '}
                <span class="muted small">{where}</span>
              </>
            ),
          },
        ]}
      />
    </Card>
  );
}

function You() {
  const me = who();
  if (me === undefined) return null;
  return (
    <>
      <Card title="Who you are here">
        <Facts
          rows={[
            ['Principal', me.principal],
            ['Signed in with', me.key_id ? `${me.mode}, key ${me.key_id}` : me.mode],
            ['Tier', me.tier],
            ['Scopes', me.scopes.join(' ')],
            ['Gateway', me.gateway.url],
            ['Version', me.gateway.version],
            ['Up since', <Time at={me.gateway.started_at} style="full" />],
          ]}
        />
      </Card>
      <Card title="This browser">
        <Segments legend="Theme" titles={titlesOf(THEMES)} {...bound(theme)} />
        <Check label="Shortcuts of a single key" value={singleKeys.value} set={setSingleKeys} />
      </Card>
    </>
  );
}
