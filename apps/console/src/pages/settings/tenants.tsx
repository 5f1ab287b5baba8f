import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useApi } from '../../api/use-api.ts';
import { useSession } from '../../session/session.tsx';
import { baseOf, DEFAULT_TENANT } from '../../session/tenant.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Field } from '../../ui/field.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Time } from '../../ui/time.tsx';

/** Tenants share an installation and nothing else; admins of the default tenant create them. */
export function Tenants() {
  const { mine } = useSession();
  return mine.tenant.name === DEFAULT_TENANT ? <List /> : null;
}

function List() {
  const query = useApi('/api/tenants', { query: { limit: 100 } }, { everyMs: 10_000 });
  const { act, busy } = useAct();
  const [name, setName] = useState('');
  const [secret, setSecret] = useState<string>();
  const make = async () => {
    const made = await act(
      () => ask('POST', '/api/tenants', { body: { name: name.trim() } }),
      (tenant) => ({ text: `The tenant ${tenant.name} was created; it has no tokens yet.` }),
    );
    if (made) setName('');
  };
  const token = async (id: string) => {
    const made = await act(() =>
      ask('POST', '/api/tenants/:id/tokens', {
        params: { id },
        body: { kind: 'operator', role: 'admin', name: 'first admin' },
      }),
    );
    if (made) setSecret(made.token);
  };
  return (
    <Card flush title="Tenants">
      <Data query={query}>
        {({ tenants }) => (
          <ul>
            {tenants.map((tenant) => (
              <li
                key={tenant.id}
                className="flex min-h-touch flex-wrap items-center gap-3 border-b px-4 py-1"
              >
                <a
                  href={baseOf(tenant.name)}
                  className="font-medium underline decoration-line underline-offset-2"
                >
                  {tenant.name}
                </a>
                <span className="flex-1 text-label text-ink-3">
                  created <Time at={tenant.createdAt} />
                </span>
                {tenant.name !== DEFAULT_TENANT && (
                  <Button disabled={busy} onClick={() => void token(tenant.id)}>
                    Admin token
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Data>
      <form
        className="flex flex-wrap items-end gap-2 p-4"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <div className="w-full max-w-field">
          <Field label="New tenant" value={name} onChange={(event) => setName(event.target.value)} />
        </div>
        <Button type="submit" disabled={busy || name.trim() === ''}>
          Create
        </Button>
      </form>
      <ShownOnce
        secret={secret}
        about="The first admin token of the tenant."
        onClose={() => setSecret(undefined)}
      />
    </Card>
  );
}
