/** What can be found in an unreadable report, so that the queue does not stop at its command for ever. */

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

const TAG = /<(\/?)(dict|array|key|string)>/g;

/**
 * The same for a report that is too large or too deep to be read: the keys of the outermost dictionary. 16 MiB take a
 * tenth of a second; as objects they would take some hundred megabytes.
 */
export function salvageOuter(bytes: Uint8Array): Salvaged {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const found = new Map<string, string>();
  let [depth, key] = [0, ''];
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(text); tag; tag = TAG.exec(text)) {
    const [, closing, name] = tag;
    if (name === 'dict' || name === 'array') depth += closing ? -1 : 1;
    else if (depth === 1 && !closing) {
      const end = text.indexOf('<', TAG.lastIndex);
      const value = text.slice(TAG.lastIndex, Math.min(end === -1 ? text.length : end, TAG.lastIndex + 256));
      if (name === 'key') key = value;
      else if (!found.has(key)) found.set(key, value);
    }
  }
  const textOf = (name: string) => {
    const value = found.get(name) ?? '';
    return /^[^&]{1,255}$/.test(value) ? value : null;
  };
  const status = textOf('Status');
  return {
    ...{ commandUuid: textOf('CommandUUID'), status: isStatus(status) ? status : null },
    ...{ udid: textOf('UDID'), enrollmentId: textOf('EnrollmentID') },
    userId: textOf('UserID') ?? textOf('EnrollmentUserID'),
  };
}

const STATUSES = ['Idle', 'Acknowledged', 'Error', 'CommandFormatError', 'NotNow'] as const;

function isStatus(word: string | null): word is (typeof STATUSES)[number] {
  return (STATUSES as readonly (string | null)[]).includes(word);
}

const VALUE = /\s{0,20}<string>([^<>&]{1,255})<\/string>/y;

/** The value of a key, if all occurrences of the key agree: an answer may contain the words of another one. */
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
