import type { FailureGroup, Failures } from '@muster/contracts';
import { useState } from 'react';
import { useApi } from '../../api/use-api.ts';
import { useRedrive } from '../../api/use-redrive.tsx';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Data } from '../../ui/data.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';
import { AT_ONCE } from '../../words/at-once.ts';
import { quoted } from '../../words/endings.ts';
import { count, counted } from '../../words/numbers.ts';

/** Dead letters by cause, and since when. */
export function DeadLettersPage() {
  const query = useApi('/api/actions/failures', {}, { everyMs: 2_000 });
  return (
    <Page
      title="Dead letters"
      name="Dead letters"
      acts={
        <TextLink to="/actions" search={{ state: 'failed', internal: 'true' }}>
          Show each
        </TextLink>
      }
    >
      <Card flush>
        <Data query={query}>{(failures) => <Groups failures={failures} />}</Data>
      </Card>
    </Page>
  );
}

function Groups({ failures }: { failures: Failures }) {
  const [asked, setAsked] = useState<Confirmation>();
  if (failures.groups.length === 0)
    return (
      <Empty title="No dead letters.">
        Actions that failed for good are listed here until they are redriven or deleted.
      </Empty>
    );
  const sum = failures.groups.reduce((all, group) => all + group.count, 0);
  return (
    <>
      <p className="border-b px-4 py-2 text-table text-ink-2">
        {counted(sum, 'dead letter')} of {counted(failures.groups.length, 'cause')}
        {failures.more && `; these are the newest ${count(failures.looked)}, there are more`}
      </p>
      <ul>
        {failures.groups.map((group) => (
          <li data-row key={`${nameOf(group)}\n${group.error}`} className="border-b last:border-b-0">
            <Group group={group} ask={setAsked} />
          </li>
        ))}
      </ul>
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}

function Group({ group, ask: open }: { group: FailureGroup; ask: (asked: Confirmation) => void }) {
  const { redrive: send, busy } = useRedrive(open);
  const may = useMay('operator');
  const redrive = () => void send({ ids: group.ids });
  const press = () =>
    group.count <= AT_ONCE
      ? redrive()
      : open({
          title: `Redrive ${count(group.count)} dead letters?`,
          about: `They go to the end of their lanes and are tried again, for example ${group.ids.slice(0, 3).join(', ')}: ${nameOf(group)}, ${quoted(group.error)}`,
          verb: `Redrive ${count(group.count)}`,
          act: redrive,
        });
  return (
    <div className="grid grid-cols-[32px_minmax(0,1fr)] items-center gap-x-4 gap-y-2 px-4 py-3 md:grid-cols-[32px_minmax(0,1fr)_max-content]">
      <TextLink
        to="/actions"
        search={likeThese(group)}
        aria-label={`Show these ${count(group.count)}`}
        className="text-right text-lead font-semibold text-red-text"
      >
        {count(group.count)}
      </TextLink>
      <div className="min-w-0">
        <p className="wrap-anywhere">
          <span className="font-medium">{nameOf(group)}</span>{' '}
          {group.error === '' ? <span className="text-ink-3">no error given</span> : quoted(group.error)}
        </p>
        <p className="text-label text-ink-3">
          since <Time at={group.firstEndedAt} form="moment" />, last <Time at={group.lastEndedAt} />, for
          example{' '}
          <TextLink to="/actions/$id" params={{ id: group.example.id }}>
            {group.example.id}
          </TextLink>
        </p>
      </div>
      {may && (
        <Button disabled={busy} onClick={press} className="col-start-2 justify-self-start md:col-start-3">
          Redrive {count(group.count)}
        </Button>
      )}
    </div>
  );
}

/** The filter that finds them: the kind, and the longest part of the error that is the same in all. */
function likeThese({ error, example, kind }: FailureGroup) {
  const [part] = error.split('…').sort((a, b) => b.length - a.length);
  return { state: 'failed', kind, ...(example.error !== null && part ? { error: part.trim() } : {}) };
}
