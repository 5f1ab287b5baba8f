/** The title of the tab: "(3) Overview · Muster", with the number of problems, so that a background tab shows them too. */
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
