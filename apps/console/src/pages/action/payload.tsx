import type { ActionWithEvents } from '@muster/contracts';
import { useState } from 'react';
import { askText } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { JsonViewer } from '../../ui/json-viewer.tsx';
import { fieldOf, type JsonNode, readJson } from '../../words/json-text.ts';
import { counted } from '../../words/numbers.ts';

/** Payload and result as the server wrote them. The server hides fields that look secret; revealing them is audited. */
export function Payload({ action, whole }: { action: ActionWithEvents; whole: JsonNode }) {
  const [shown, setShown] = useState<JsonNode>();
  const { act, busy } = useAct();
  const may = useMay('operator');
  const reveal = async () => {
    const all = await act(
      () => askText('POST', '/api/actions/:id/reveal', { params: { id: action.id }, body: {} }),
      {
        text: 'Revealed, and noted in the audit log.',
      },
    );
    if (all) setShown(readJson(all));
  };
  const from = shown ?? whole;
  const parts = (['payload', 'result'] as const).flatMap((name) => {
    const node = fieldOf(from, name);
    return node === undefined ? [] : [{ name, node }];
  });
  const hidden = shown ? undefined : action.hidden;
  return (
    <>
      {parts.map(({ name, node }) => (
        <Card
          key={name}
          title={name === 'payload' ? 'Payload' : 'Result'}
          aside={
            hidden !== undefined && name === 'payload' ? (
              <>
                {counted(hidden, 'field')} hidden
                {may && (
                  <Button disabled={busy} onClick={() => void reveal()}>
                    Reveal
                  </Button>
                )}
              </>
            ) : null
          }
        >
          <JsonViewer node={node} name={name} />
        </Card>
      ))}
    </>
  );
}
