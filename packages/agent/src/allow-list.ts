import { readFile } from 'node:fs/promises';

/**
 * The units that this host lets itself be told about, whatever the server says: one name per line, `#` for remarks. Read
 * for every action, so a change counts at once; without the file nothing is allowed.
 */
export class AllowList {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async allows(unit: string): Promise<boolean> {
    const text = await readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const wanted = full(unit);
    if (wanted === '') return false;
    return text.split('\n').some((line) => full(line.replace(/#.*$/, '').trim()) === wanted);
  }
}

/** systemctl takes nginx for nginx.service. */
function full(unit: string): string {
  return /\.(service|socket|timer|target|path|mount|automount|swap|slice|scope|device)$/.test(unit) ||
    unit === ''
    ? unit
    : `${unit}.service`;
}
