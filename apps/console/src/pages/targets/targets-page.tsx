import { address } from '../../page-address.ts';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Bots } from './bots.tsx';
import { Devices } from './devices.tsx';
import { Hosts } from './hosts.tsx';
import { Pcs } from './pcs.tsx';

const TYPES = { devices: Devices, hosts: Hosts, pcs: Pcs, bots: Bots } as const;
const WORDS = { devices: 'Devices', hosts: 'Hosts', pcs: 'PCs', bots: 'Bots' } as const;
type Type = keyof typeof TYPES;

/** Which targets are offline, in error, or have much to do. */
export function TargetsPage() {
  const search = address.useSearch();
  const type: Type = search.type !== undefined && search.type in TYPES ? (search.type as Type) : 'devices';
  const Shown = TYPES[type];
  return (
    <Page title="Targets" name="Targets">
      <Tabs
        label="Kinds of targets"
        tabs={Object.entries(WORDS).map(([one, word]) => ({
          word,
          search: { type: one },
          isOpen: one === type,
        }))}
      />
      <Shown search={search} />
    </Page>
  );
}
