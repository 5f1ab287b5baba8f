import { useApi } from '../../api/use-api.ts';
import { Card } from '../../ui/card.tsx';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';

/** The milestones of a device, newest first. */
export function Milestones({ id }: { id: string }) {
  const { data } = useApi(
    '/api/devices/:id/milestones',
    { params: { id }, query: { limit: 12 } },
    { everyMs: 2_000 },
  );
  return (
    <Card title="Milestones">
      {data?.milestones.length === 0 && <p className="text-ink-2">None yet.</p>}
      <ol className="flex flex-col gap-1 text-table">
        {data?.milestones.map((one) => (
          <li key={one.id} className="flex flex-wrap justify-between gap-x-3">
            <span>
              {one.actionId ? (
                <TextLink to="/actions/$id" params={{ id: one.actionId }}>
                  {words(one.type)} <Id>{one.actionId}</Id>
                </TextLink>
              ) : (
                words(one.type)
              )}
              {/* a step of an action names who assigned it, which is shown once */}
              {one.by && (!one.actionId || one.type === 'assigned') && (
                <span className="text-ink-3"> by {one.by}</span>
              )}
            </span>
            <span className="text-ink-3">
              <Time at={one.at} />
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** policyChanged → policy changed. */
function words(type: string): string {
  return type
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll('_', ' ')
    .trim();
}
