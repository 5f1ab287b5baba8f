import { useMay } from '../../session/session.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Limits } from './limits.tsx';
import { PauseEverything } from './pause-everything.tsx';
import { Tenants } from './tenants.tsx';
import { Tokens } from './tokens.tsx';

/** Tokens, tenants, pauses and limits. */
export function SettingsPage() {
  const isAdmin = useMay('admin');
  return (
    <Page title="Settings" name="Settings" beside={isAdmin && <TextLink to="/audit">Audit log</TextLink>}>
      <PauseEverything />
      {isAdmin ? (
        <>
          <Tokens />
          <Tenants />
        </>
      ) : (
        <p className="text-ink-2">Tokens and tenants are for admins.</p>
      )}
      <Limits />
    </Page>
  );
}
