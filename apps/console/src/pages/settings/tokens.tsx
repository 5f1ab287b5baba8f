import type { NewToken, Token } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { NewTokenDialog } from './new-token-dialog.tsx';

const idOf = (token: Token) => token.id;

/** Tokens created by hand. A secret is shown once. */
export function Tokens() {
  const { act, busy } = useAct();
  const [isMaking, setMaking] = useState(false);
  const [asked, setAsked] = useState<Confirmation>();
  const [secret, setSecret] = useState<string>();
  const list = useLiveList({
    key: ['/api/tokens'],
    idOf,
    everyMs: 5_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/tokens', { query: { limit: 100, cursor }, signal });
      return { rows: page.tokens, cursor: page.cursor };
    },
  });
  const create = async (body: NewToken) => {
    const made = await act(() => ask('POST', '/api/tokens', { body }));
    if (!made) return;
    setMaking(false);
    setSecret(made.token);
  };
  const rotate = async (token: Token) => {
    const made = await act(() =>
      ask('POST', '/api/tokens/:id/rotate', { params: { id: token.id }, body: {} }),
    );
    if (made) setSecret(made.token);
  };
  const revoke = (token: Token) =>
    setAsked({
      title: `Revoke ${token.name}?`,
      about: 'The token is refused at once on all nodes, and browsers that signed in with it are signed out.',
      verb: 'Revoke',
      danger: true,
      act: () =>
        void act(() => ask('DELETE', '/api/tokens/:id', { params: { id: token.id } }), {
          text: `${token.name} is revoked.`,
        }),
    });
  const columns: readonly Column<Token>[] = [
    { name: 'Name', width: '26%', cell: (token) => <span className="font-medium">{token.name}</span> },
    { name: 'Kind', width: '150px', cell: (token) => token.kind },
    { name: 'Role', width: '90px', cell: (token) => token.role ?? '' },
    {
      name: 'State',
      narrow: 'second',
      cell: (token) =>
        token.revokedAt ? (
          <Badge tone="slate" word="revoked" />
        ) : token.firstUsedAt ? (
          <Badge tone="green" word="in use" />
        ) : (
          <Badge tone="slate" word="never used" />
        ),
    },
    {
      name: 'Created',
      width: '96px',
      align: 'right',
      cell: (token) => (
        <span className="text-ink-3">
          <Time at={token.createdAt} />
        </span>
      ),
    },
    {
      name: '-Acts',
      width: '180px',
      align: 'right',
      cell: (token) =>
        token.revokedAt ? null : (
          <span className="inline-flex gap-2">
            <Button disabled={busy} onClick={() => void rotate(token)}>
              Rotate
            </Button>
            <Button look="danger" disabled={busy} onClick={() => revoke(token)}>
              Revoke
            </Button>
          </span>
        ),
    },
  ];
  return (
    <Card flush title="Tokens" aside={<Button onClick={() => setMaking(true)}>New token</Button>}>
      <LiveTable
        label="Tokens"
        list={list}
        columns={columns}
        keyOf={idOf}
        empty={<Empty title="There are no tokens." />}
      />
      {isMaking && (
        <NewTokenDialog busy={busy} onClose={() => setMaking(false)} onMake={(body) => void create(body)} />
      )}
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
      <ShownOnce
        secret={secret}
        about="The new token. The server stores only its hash."
        onClose={() => setSecret(undefined)}
      />
    </Card>
  );
}
