import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useToast } from './toast.tsx';

/**
 * Says what will happen before it happens. It is the browser's own dialog, which keeps the focus inside and gives it back afterwards,
 * without adding styles to the page, which the content security policy forbids.
 */
export function Dialog(props: {
  title: string;
  about?: ReactNode;
  open: boolean;
  onClose: () => void;
  /** Closed by its own buttons only. */
  sticky?: boolean;
  children: ReactNode;
}) {
  if (!props.open) return null;
  return <OpenDialog {...props} />;
}

function OpenDialog({ title, about, onClose, sticky, children }: Parameters<typeof Dialog>[0]) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const told = useRef<HTMLDivElement>(null);
  const { forgetFault, tellIn } = useToast();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = box.current;
    dialog?.showModal();
    // the browser would focus the button that closes it
    dialog?.querySelector<HTMLElement>('input, textarea, select')?.focus();
    forgetFault();
    tellIn(told.current);
    return () => {
      dialog?.close();
      // the element that had the focus is gone
      queueMicrotask(() => tellIn(null));
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [forgetFault, tellIn]);
  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!sticky) onClose();
      }}
      className="m-auto max-h-[calc(100dvh-64px)] w-[calc(100vw-32px)] max-w-dialog overflow-y-auto rounded-card border border-control bg-surface text-ink backdrop:bg-[rgb(14_17_22/0.5)]"
    >
      <div className="flex flex-col gap-4 p-6">
        <div className="flex items-start justify-between gap-4">
          <h2 id={id} className="text-lead font-semibold">
            {title}
          </h2>
          {!sticky && (
            <button
              type="button"
              aria-label="Close"
              onClick={onClose}
              className="-m-1 rounded-control p-1 text-ink-2 hover:bg-sunken"
            >
              <X aria-hidden size={16} />
            </button>
          )}
        </div>
        {about && <div className="text-ink-2">{about}</div>}
        {children}
        <div ref={told} className="empty:hidden" />
      </div>
    </dialog>
  );
}
