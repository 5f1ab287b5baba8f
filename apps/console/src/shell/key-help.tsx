import { Dialog } from '../ui/dialog.tsx';
import { KEYS, useKeysSwitch } from './keys.ts';

/** What each key does, and the switch that turns them off. */
export default function KeyHelp({ onClose }: { onClose: () => void }) {
  const [on, set] = useKeysSwitch();
  return (
    <Dialog open onClose={onClose} title="Keys">
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
        {KEYS.map(([key, word]) => (
          <div key={key} className="contents">
            <dt>
              {key.split(' ').map((one) => (
                <kbd
                  key={one}
                  className="mr-1 inline-block min-w-6 rounded-badge border border-control px-1 text-center font-mono text-label"
                >
                  {one.replace(',', '')}
                </kbd>
              ))}
            </dt>
            <dd className="text-ink-2">{word}</dd>
          </div>
        ))}
      </dl>
      <label className="flex min-h-6 items-center gap-2 border-t pt-3">
        <input
          type="checkbox"
          className="size-4 accent-ink"
          checked={on}
          onChange={(event) => set(event.target.checked)}
        />
        Use single-key shortcuts in this browser
      </label>
    </Dialog>
  );
}
