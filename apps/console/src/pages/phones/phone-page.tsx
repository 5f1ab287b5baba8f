import { Refused } from '../../api/refused.ts';
import { useApi } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Ending } from '../../ui/ending.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Presence } from '../../ui/presence.tsx';
import { Thing } from '../../ui/thing.tsx';
import { Time } from '../../ui/time.tsx';
import { Commands } from './commands.tsx';
import { FirstWaiting } from './first-waiting.tsx';
import { NotEnrolled } from './not-enrolled.tsx';
import { PhoneActs } from './phone-acts.tsx';
import { PushSentence, PushState } from './push-state.tsx';

/** One phone: whether it can be reached, and its answers. */
export function PhonePage() {
  const { id } = address.useParams();
  const query = useApi('/api/devices/:id/mdm', { params: { id } }, { everyMs: 1_000 });
  if (query.error instanceof Refused && query.error.code === 'MUSTER_NOT_ENROLLED')
    return <NotEnrolled id={id} />;
  return (
    <Thing query={query} noun="Phone" id={id} back={{ to: '/phones', word: 'All phones' }}>
      {(phone) => (
        <Page
          name={phone.name}
          title={
            <>
              {phone.name} {phone.serial && <Id>{phone.serial}</Id>}
            </>
          }
          beside={
            <span className="flex flex-wrap items-center gap-3">
              <Presence online={phone.online} lastSeenAt={phone.lastSeenAt} />
              <PushState phone={phone} />
            </span>
          }
          acts={<PhoneActs phone={phone} />}
        >
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <Card title="How it is reached">
              <Facts
                facts={[
                  ['Push', <PushSentence key="push" phone={phone} />],
                  ['Next', <FirstWaiting key="next" phone={phone} />],
                  ['Token received', phone.push.tokenAt && <Time at={phone.push.tokenAt} />],
                  [
                    'Topic',
                    <span key="topic" className="font-mono text-label break-all">
                      {phone.topic}
                    </span>,
                  ],
                  ['Certificate ends', <Ending key="ends" at={phone.certificateEndsAt} />],
                ]}
              />
            </Card>
            <Card title="About">
              <Facts
                facts={[
                  [
                    'Device',
                    <TextLink key="device" to="/devices/$id" params={{ id: phone.id }}>
                      its lane, and everything that waits for it
                    </TextLink>,
                  ],
                  ['Model', [phone.model, phone.osVersion].filter(Boolean).join(', ') || undefined],
                  [
                    phone.byod ? 'Enrolment' : 'UDID',
                    <span key="udid" className="font-mono text-label break-all">
                      {phone.udid}
                    </span>,
                  ],
                  ['Can be unlocked', phone.canBeUnlocked ? 'yes' : 'no: it has not sent an unlock token'],
                  [
                    'Enrolled',
                    phone.enrolledAt ? (
                      <Time key="at" at={phone.enrolledAt} form="exact" />
                    ) : (
                      'not completely'
                    ),
                  ],
                  ['Left', phone.releasedAt && <Time at={phone.releasedAt} form="exact" />],
                ]}
              />
            </Card>
          </div>
          <Commands id={id} />
        </Page>
      )}
    </Thing>
  );
}
