import type * as pkijs from 'pkijs';

/** A name in a certificate or in a request for one, outermost part first. */
export type SubjectName = readonly { readonly type: string; readonly value: string }[];

const SHORT: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '0.9.2342.19200300.100.1.1': 'UID',
};

export function readSubject(name: pkijs.RelativeDistinguishedNames): SubjectName {
  return name.typesAndValues.map(({ type, value }) => ({
    type: SHORT[type] ?? type,
    value: typeof value.valueBlock.value === 'string' ? value.valueBlock.value : '',
  }));
}

/** The one common name, or null if there is none or more than one. */
export function commonNameOf(subject: SubjectName): string | null {
  const [name, ...more] = subject.filter(({ type }) => type === 'CN');
  return name !== undefined && more.length === 0 ? name.value : null;
}
