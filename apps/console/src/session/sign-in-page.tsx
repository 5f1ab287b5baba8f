import type { SignIn } from '@muster/contracts';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ask } from '../api/ask.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Field } from '../ui/field.tsx';
import { baseOf, DEFAULT_TENANT } from './tenant.ts';

/** Sign-in with an operator token; the browser keeps a cookie that no script can read. */
export function SignInPage(props: {
  tenant: string;
  others: readonly SignIn[];
  /** The sign-in of this page ended a moment ago. */
  hasEnded?: boolean;
}) {
  const { tenant, others, hasEnded } = props;
  const [token, setToken] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();

  const signIn = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const mine = await ask('POST', '/api/session', {
        headers: { authorization: `Bearer ${token.trim()}` },
      });
      // the token decides the tenant: go to its pages
      if (mine.tenant.name === tenant && location.pathname !== '/sign-in')
        await queries.invalidateQueries({ queryKey: ['/api/session'] });
      else location.assign(baseOf(mine.tenant.name));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="mx-auto flex min-h-dvh max-w-[400px] flex-col justify-center gap-6 p-4">
      <div>
        <h1 className="text-title font-semibold">Muster</h1>
        {hasEnded && (
          <p role="alert" className="mt-2 font-medium text-amber-text">
            Your sign-in has ended: you signed out elsewhere, its token was revoked, or it has expired.
          </p>
        )}
        <p className="mt-1 text-ink-2">
          {tenant === DEFAULT_TENANT
            ? 'Sign in with an operator token.'
            : `Sign in to ${tenant} with an operator token of it.`}
        </p>
      </div>
      <form
        onSubmit={(event) => void signIn(event)}
        className="flex flex-col gap-4 rounded-card border bg-surface p-6"
      >
        <Field
          label="Operator token"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          value={token}
          onChange={(event) => setToken(event.target.value)}
          hint={
            tenant === DEFAULT_TENANT ? (
              <>
                The first one is printed by <code className="font-mono">npm start</code> and is in{' '}
                <code className="font-mono">data/operator-token</code>.
              </>
            ) : undefined
          }
        />
        <Button type="submit" look="first" disabled={busy || token.trim() === ''}>
          Sign in
        </Button>
      </form>
      {error !== undefined && <Failure error={error} />}
      {others.length > 0 && (
        <nav aria-label="Other sign-ins" className="text-table text-ink-2">
          Signed in to:{' '}
          {others.map((one) => (
            <a
              key={one.tenant.id}
              href={baseOf(one.tenant.name)}
              className="mr-2 underline underline-offset-2"
            >
              {one.tenant.name} ({one.role})
            </a>
          ))}
        </nav>
      )}
    </main>
  );
}
