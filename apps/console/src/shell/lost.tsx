import { TextLink } from '../ui/link.tsx';
import { Page } from '../ui/page.tsx';

export function Lost() {
  return (
    <Page title="There is no such page" name="No such page">
      <p>
        There is nothing at this address. <TextLink to="/">To the overview</TextLink>
      </p>
    </Page>
  );
}
