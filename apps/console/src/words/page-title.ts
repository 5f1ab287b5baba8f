/** The title of the tab: "(3) Overview · Muster", with how many problems there are, so that a tab in the back tells of them. */
let name = 'Muster';
let problems = 0;

function write() {
  document.title = `${problems > 0 ? `(${problems}) ` : ''}${name} · Muster`;
}

export function titleIs(page: string): void {
  name = page;
  write();
}

export function problemsAre(count: number): void {
  problems = count;
  write();
}
