import type { Problem } from '@muster/contracts';
import { PROBLEM_CODES } from '@muster/contracts/words';
import type { Queryable } from '@muster/engine';

/** Problems that need a person: each door reports those of its own data. The worst comes first. */
export type FindProblems = (client: Queryable, tenantId: number) => Promise<Problem[]>;

export class Problems {
  readonly #finders: FindProblems[] = [];

  add(find: FindProblems): void {
    this.#finders.push(find);
  }

  async of(client: Queryable, tenantId: number): Promise<Problem[]> {
    const found: Problem[] = [];
    for (const find of this.#finders) found.push(...(await find(client, tenantId)));
    return found.toSorted((a, b) => PROBLEM_CODES.indexOf(a.code) - PROBLEM_CODES.indexOf(b.code));
  }
}
