/** Why input from the wire, or a setting, was refused. A code is stable; its sentence may be improved. */
export type MdmErrorCode =
  | 'PLIST_TOO_LARGE'
  | 'PLIST_NOT_XML'
  | 'PLIST_MALFORMED'
  | 'PLIST_TOO_DEEP'
  | 'PLIST_ENTITIES'
  | 'PLIST_NOT_A_DICT'
  | 'MESSAGE_INCOMPLETE'
  | 'MESSAGE_UNKNOWN'
  | 'COMMAND_INVALID'
  | 'CERTIFICATE_MISSING'
  | 'CERTIFICATE_UNREADABLE'
  | 'CERTIFICATE_FOREIGN'
  | 'CERTIFICATE_NOT_NOW_VALID'
  | 'CERTIFICATE_NOT_FOR_CLIENTS'
  | 'SIGNATURE_UNREADABLE'
  | 'SIGNATURE_WRONG'
  | 'ENVELOPE_UNREADABLE'
  | 'ALGORITHM_UNSUPPORTED'
  | 'KEY_UNREADABLE'
  | 'KEY_DOES_NOT_MATCH'
  | 'REQUEST_UNREADABLE'
  | 'TOPIC_MISSING'
  | 'PUSH_TOO_LARGE';

/** None of these means that a device has to leave: a server answers them with 400, never with 401. */
export class MdmError extends Error {
  override readonly name = 'MdmError';
  readonly code: MdmErrorCode;

  constructor(code: MdmErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
