import { useApi } from '../../api/use-api.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Thing } from '../../ui/thing.tsx';
import { ProfileLink } from './profile-link.tsx';

/** A device without a phone, and how to enrol one. */
export function NotEnrolled({ id }: { id: string }) {
  const may = useMay('operator');
  const query = useApi('/api/devices/:id', { params: { id } });
  return (
    <Thing query={query} noun="Device" id={id} back={{ to: '/phones', word: 'All phones' }}>
      {(device) => (
        <Page
          title={device.name}
          name={device.name}
          beside={<Badge tone="slate" word="not enrolled" />}
          acts={may && <ProfileLink id={id} look="first" />}
        >
          <Card title="No phone is enrolled as this device">
            <p className="max-w-prose text-ink-2">
              {may ? 'Create a profile link' : 'Get a profile link from an operator'}, open it in Safari on
              the phone and install the profile. Then this page shows whether the phone can be reached. Or use
              curl:
            </p>
            <code className="mt-2 block max-w-full rounded-control bg-sunken px-3 py-2 font-mono text-table wrap-anywhere whitespace-pre-wrap">
              {`curl -X POST $MUSTER/api/devices/${id}/mdm/enrolment -H "$OPERATOR"`}
            </code>
            <p className="mt-3 flex flex-wrap gap-4">
              <TextLink to="/devices/$id" params={{ id }}>
                {device.name}: its lane, and everything that waits for it
              </TextLink>
              <TextLink to="/phones">All phones</TextLink>
            </p>
          </Card>
        </Page>
      )}
    </Thing>
  );
}
