/** What a property list may hold. */
export type PlistValue = string | number | boolean | Date | Uint8Array | PlistValue[] | PlistDict;
export interface PlistDict {
  [key: string]: PlistValue;
}
