import type { SignIn, SignIns } from '@muster/contracts';
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useRef } from 'react';
import { ask } from '../api/ask.ts';
import { setTenant } from '../api/tenant-header.ts';
import { Failure } from '../ui/failure.tsx';
import { heardTime } from '../words/clock.ts';
import { SignInPage } from './sign-in-page.tsx';
import { tenantOfPage } from './tenant.ts';

export interface Session {
  readonly mine: SignIn;
  readonly all: SignIns;
}

const Context = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error('A page outside of the sign-in.');
  return session;
}

/** Acts that a role may not use are not drawn; the server refuses them anyway. */
export function useMay(role: 'operator' | 'admin'): boolean {
  const { mine } = useSession();
  return mine.role === 'admin' || (role === 'operator' && mine.role === 'operator');
}

/** Whether this server has a feature that older ones lack: what needs it is left out. */
export function useHas(feature: 'live' | 'overview'): boolean {
  return useSession().all.features.includes(feature);
}

export async function readSession(): Promise<SignIns> {
  const askedAt = Date.now();
  const all = await ask('GET', '/api/session');
  heardTime(all.now, askedAt);
  return all;
}

/** The page to sign in to another tenant, besides those of this browser. */
function isSignIn(path: string): boolean {
  return path === '/sign-in';
}

const AGAIN_MS = 3_000;
const mineOf = ({ signIns }: SignIns) => signIns.find((one) => one.tenant.name === tenantOfPage());

/** The session of this page's tenant, or the page to sign in. */
export function SessionGate({ children }: { children: ReactNode }) {
  const query = useQuery({
    queryKey: ['/api/session'],
    queryFn: readSession,
    staleTime: 60_000,
    // a server that is away is asked until it is back, without a click; and a sign-in in another tab is a sign-in here
    refetchInterval: ({ state }) =>
      state.data === undefined ? (state.error ? AGAIN_MS : false) : mineOf(state.data) ? false : AGAIN_MS,
  });
  const wasSignedIn = useRef(false);
  if (query.data === undefined)
    return query.isError ? (
      <main className="mx-auto max-w-dialog p-6">
        <h1 className="sr-only">Muster</h1>
        <Failure error={query.error} retry={() => void query.refetch()} />
      </main>
    ) : null;
  const tenant = tenantOfPage();
  if (isSignIn(location.pathname)) return <SignInPage tenant={tenant} others={query.data.signIns} />;
  const mine = mineOf(query.data);
  if (!mine) return <SignInPage tenant={tenant} others={query.data.signIns} hasEnded={wasSignedIn.current} />;
  wasSignedIn.current = true;
  setTenant(mine.tenant.id);
  return <Context value={{ mine, all: query.data }}>{children}</Context>;
}
