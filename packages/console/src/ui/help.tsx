import { Dialog } from './dialog.tsx';
import { Check } from './fields.tsx';
import { setSingleKeys, shortcuts, singleKeys } from './keys.ts';

/** What the browser does by itself. */
const NATIVE = [
  { keys: 'Enter', does: 'Open the row' },
  { keys: 'Esc', does: 'Close a dialog' },
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Shortcuts" onClose={onClose}>
      <Check label="Single keys are on" value={singleKeys.value} set={setSingleKeys} />
      <dl class="keys">
        {[...shortcuts.value, ...NATIVE].map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key.replace('mod+', 'Ctrl ').replace('Ctrl k', 'Ctrl K')}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
