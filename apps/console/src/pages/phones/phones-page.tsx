import type { Phone } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Ending } from '../../ui/ending.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Presence } from '../../ui/presence.tsx';
import type { Column } from '../../ui/table.tsx';
import { PushCertificates } from './push-certificates.tsx';
import { PushSentence, PushState } from './push-state.tsx';

const idOf = (phone: Phone) => phone.id;

const COLUMNS: readonly Column<Phone>[] = [
  {
    name: 'Phone',
    width: '24%',
    cell: (one) => (
      <>
        <TextLink to="/phones/$id" params={{ id: one.id }} className="font-medium">
          {one.name}
        </TextLink>
        <div className="text-label text-ink-3">
          {[one.model, one.osVersion, one.serial].filter(Boolean).join(' · ')}
        </div>
      </>
    ),
  },
  {
    name: 'Seen',
    width: '150px',
    cell: (one) => <Presence online={one.online} lastSeenAt={one.lastSeenAt} />,
  },
  { name: 'Push', width: '120px', narrow: 'second', cell: (one) => <PushState phone={one} /> },
  {
    name: 'Why',
    narrow: 'line',
    cell: (one) => (
      <span className="text-ink-2">
        <PushSentence phone={one} />
      </span>
    ),
  },
  {
    name: 'Certificate ends',
    width: '150px',
    align: 'right',
    cell: (one) => (
      <>
        <span className="text-ink-3 md:hidden">certificate ends </span>
        <Ending at={one.certificateEndsAt} />
      </>
    ),
  },
];

/** Which phones are enrolled and can be reached, and when their certificates expire. */
export function PhonesPage() {
  const list = useLiveList({
    key: ['/api/phones'],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/phones', { query: { limit: 100, cursor }, signal });
      return { rows: page.phones, cursor: page.cursor };
    },
  });
  return (
    <Page title="Phones" name="Phones">
      <PushCertificates />
      <Card flush title="Enrolled" aside="newest first">
        <LiveTable
          label="Phones"
          list={list}
          columns={COLUMNS}
          keyOf={idOf}
          empty={
            <Empty
              title="No phone has enrolled yet."
              command={'curl -X POST $MUSTER/api/devices/1/mdm/enrolment -H "$OPERATOR"'}
            >
              A phone enrols as a device with a profile: create a link on the page of the device (menu,
              "Profile for a phone"), open it on the phone and install the profile.
            </Empty>
          }
        />
      </Card>
    </Page>
  );
}
