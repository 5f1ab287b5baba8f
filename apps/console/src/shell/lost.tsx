import { TextLink } from '../ui/link.tsx';
import { Page } from '../ui/page.tsx';

export function Lost() {
  return (
    <Page title="There is no such page" name="No such page">
      <p>
        The address leads nowhere. <TextLink to="/">To the overview</TextLink>
      </p>
    </Page>
  );
}
