/** What can be found in a report that cannot be read, so that the command behind it is not asked about for ever. */

export interface Salvaged {
  readonly commandUuid: string | null;
  readonly status: 'Idle' | 'Acknowledged' | 'Error' | 'CommandFormatError' | 'NotNow' | null;
  readonly udid: string | null;
  readonly enrollmentId: string | null;
  readonly userId: string | null;
}

export function salvage(bytes: Uint8Array): Salvaged {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const status = find(text, 'Status');
  return {
    commandUuid: find(text, 'CommandUUID'),
    status: isStatus(status) ? status : null,
    udid: find(text, 'UDID'),
    enrollmentId: find(text, 'EnrollmentID'),
    userId: find(text, 'UserID') ?? find(text, 'EnrollmentUserID'),
  };
}

const STATUSES = ['Idle', 'Acknowledged', 'Error', 'CommandFormatError', 'NotNow'] as const;

function isStatus(word: string | null): word is (typeof STATUSES)[number] {
  return (STATUSES as readonly (string | null)[]).includes(word);
}

const VALUE = /\s{0,20}<string>([^<>&]{1,255})<\/string>/y;

/** The value of a key, if all places that have the key agree: an answer may hold the words of another one. */
function find(text: string, key: string): string | null {
  const tag = `<key>${key}</key>`;
  let found: string | null = null;
  for (let at = text.indexOf(tag); at !== -1; at = text.indexOf(tag, at + tag.length)) {
    VALUE.lastIndex = at + tag.length;
    const value = VALUE.exec(text)?.[1];
    if (value === undefined || (found !== null && found !== value)) return null;
    found = value;
  }
  return found;
}
