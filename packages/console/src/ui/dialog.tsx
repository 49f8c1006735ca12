// Native dialogs: the browser keeps the focus inside, closes on Escape, and gives the focus back.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button, Problem } from './parts.tsx';

export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={props.class}
      aria-labelledby={title}
      onClose={props.onClose}
      closedby="any"
    >
      <div class="dialog-body">
        <header>
          <h2 id={title}>{props.title}</h2>
          <button
            type="button"
            class="button plain small"
            onClick={() => box.current?.close()}
            aria-label="Close"
          >
            ✕
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

/** Asks before something that cannot be taken back; shows why it failed, and stays then. */
export function Confirm(props: {
  title: string;
  action: string;
  children: ComponentChildren;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await props.onConfirm();
      props.onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {props.children}
      {error !== undefined && <Problem error={error} />}
      <footer>
        <Button onClick={props.onClose}>Cancel</Button>
        <Button kind="danger" busy={busy} onClick={() => void confirm()}>
          {props.action}
        </Button>
      </footer>
    </Dialog>
  );
}
