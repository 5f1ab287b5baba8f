import { X } from 'lucide-react';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { createPortal } from 'react-dom';
import { Refused } from '../api/refused.ts';
import { Button } from './button.tsx';
import { sentenceOf } from './failure.tsx';

/** One at a time, for 8 s, or longer while the pointer or focus is on it. Errors stay until they are closed. */
const SHOWN_MS = 8_000;

export interface Said {
  readonly text: string;
  readonly detail?: string;
  readonly undo?: { readonly word: string; readonly act: () => void };
  readonly isError?: boolean;
}

interface Toasts {
  readonly say: (said: Said) => void;
  readonly fail: (error: unknown) => void;
  /** A new try removes the error of an earlier one. */
  readonly forgetFault: () => void;
  /** An open dialog covers the page, and nothing outside it can be read or pressed: the toast is shown inside. */
  readonly tellIn: (place: HTMLElement | null) => void;
}

const Context = createContext<Toasts>({
  say: () => {},
  fail: () => {},
  forgetFault: () => {},
  tellIn: () => {},
});
export const useToast = () => useContext(Context);

export function ToastProvider({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState<Said & { readonly key: number }>();
  const keys = useRef(0);
  const say = useCallback((next: Said) => {
    keys.current += 1;
    setSaid({ ...next, key: keys.current });
  }, []);
  const [places, setPlaces] = useState<readonly HTMLElement[]>([]);
  const place = places.at(-1);
  const toasts = useMemo<Toasts>(
    () => ({
      say,
      forgetFault: () => setSaid((before) => (before?.isError ? undefined : before)),
      tellIn: (one) =>
        setPlaces((before) => [...before.filter((other) => other.isConnected), ...(one ? [one] : [])]),
      fail: (error) =>
        say({
          text: sentenceOf(error),
          isError: true,
          ...(error instanceof Refused
            ? { detail: `${error.code}${error.requestId ? ` · request ${error.requestId}` : ''}` }
            : {}),
        }),
    }),
    [say],
  );
  const toast = said && <Toast key={said.key} said={said} close={() => setSaid(undefined)} />;
  return (
    <Context value={toasts}>
      {children}
      {/* one polite region for the outcome of acts */}
      <div
        role="status"
        aria-live="polite"
        className="fixed inset-x-4 bottom-4 z-50 flex justify-center pointer-events-none"
      >
        {!place && toast}
      </div>
      {place && createPortal(<div role="status">{toast}</div>, place)}
    </Context>
  );
}

function Toast({ said, close }: { said: Said; close: () => void }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held || said.isError) return;
    const timer = setTimeout(close, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [held, said.isError, close]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: to look at it keeps it; nothing is pressed
    <div
      className="pointer-events-auto flex max-w-dialog items-center gap-3 rounded-card border border-control bg-surface px-4 py-2"
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <div className="min-w-0 wrap-anywhere">
        <p className={said.isError ? 'text-red-text' : ''}>{said.text}</p>
        {said.detail && <p className="font-mono text-label text-ink-3">{said.detail}</p>}
      </div>
      {said.undo && (
        <Button
          onClick={() => {
            said.undo?.act();
            close();
          }}
        >
          {said.undo.word}
        </Button>
      )}
      <button
        type="button"
        aria-label="Close the message"
        onClick={close}
        className="rounded-control p-1 text-ink-2 hover:bg-sunken"
      >
        <X aria-hidden size={16} />
      </button>
    </div>
  );
}
