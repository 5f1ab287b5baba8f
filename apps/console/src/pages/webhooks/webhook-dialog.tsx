import type { NewWebhook, Webhook, WebhookFilter } from '@muster/contracts';
import { useState } from 'react';
import { Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

/** All events, wildcards first. */
const EVENTS: readonly Webhook['events'][number][] = [
  'action.*',
  'action.created',
  'action.started',
  'action.succeeded',
  'action.failed',
  'action.cancelled',
  'action.expired',
  'order.*',
  'order.created',
  'order.started',
  'order.returned',
  'order.completed',
  'order.deleted',
  'device.state_changed',
  'batch.finished',
  'task.finished',
  'alert.raised',
];
const FILTERS = ['kinds', 'tags', 'devices', 'hosts'] as const;
const WORDS = { kinds: 'Kinds', tags: 'Tags', devices: 'Ids of devices', hosts: 'Ids of hosts' } as const;

/** URL, events and filter, for a new webhook or a changed one. */
export function WebhookDialog(props: {
  title: string;
  verb: string;
  busy: boolean;
  from?: Webhook;
  onClose: () => void;
  onDone: (body: NewWebhook) => void;
}) {
  const { busy, from, onClose, onDone, title, verb } = props;
  const [name, setName] = useState(from?.name ?? '');
  const [url, setUrl] = useState(from?.url ?? 'https://');
  const [events, setEvents] = useState<readonly string[]>(from?.events ?? ['action.failed']);
  const [filter, setFilter] = useState<Record<string, string>>(() =>
    Object.fromEntries(FILTERS.map((key) => [key, (from?.filter[key] ?? []).join(', ')])),
  );
  const isReady = url.trim().length > 'https://'.length && events.length > 0;
  return (
    <FormDialog
      title={title}
      verb={verb}
      busy={busy}
      wrong={!isReady}
      onClose={onClose}
      onDone={() =>
        onDone({
          url: url.trim(),
          // the boxes show the list
          events: events as NewWebhook['events'],
          filter: written(filter),
          ...(name.trim() === '' ? {} : { name: name.trim() }),
        })
      }
    >
      <Field label="Name" value={name} autoFocus onChange={(event) => setName(event.target.value)} />
      <Field
        label="Address"
        required
        value={url}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setUrl(event.target.value)}
        hint="Private networks are refused unless MUSTER_OUTGOING_ALLOW names them."
      />
      <fieldset>
        <legend className="mb-1 text-label font-medium text-ink-2">Events</legend>
        <div className="grid grid-cols-1 gap-x-4 min-[420px]:grid-cols-2">
          {EVENTS.map((one) => (
            <label key={one} className="flex min-h-6 items-center gap-2 pointer-coarse:min-h-touch">
              <input
                type="checkbox"
                className="size-4 accent-ink"
                checked={events.includes(one)}
                onChange={(event) =>
                  setEvents(event.target.checked ? [...events, one] : events.filter((other) => other !== one))
                }
              />
              <span className="font-mono text-label">{one}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset className="grid gap-3 min-[420px]:grid-cols-2">
        <legend className="mb-1 text-label font-medium text-ink-2">
          Filter: only these, separated by commas; empty means all
        </legend>
        {FILTERS.map((key) => (
          <Field
            key={key}
            label={WORDS[key]}
            value={filter[key] ?? ''}
            autoComplete="off"
            onChange={(event) => setFilter({ ...filter, [key]: event.target.value })}
          />
        ))}
      </fieldset>
    </FormDialog>
  );
}

function written(filter: Readonly<Record<string, string>>): WebhookFilter {
  const lists = FILTERS.map((key) => [
    key,
    (filter[key] ?? '')
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean),
  ]);
  return Object.fromEntries(lists.filter(([, list]) => (list as string[]).length > 0)) as WebhookFilter;
}
