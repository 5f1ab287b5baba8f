/** The whole public surface, by name. */

export { choosePushes, type DuePush } from './apns/choose.ts';
export { ApnsClient, type ApnsOptions } from './apns/client.ts';
export { nextPushInMs, nextTryInMs } from './apns/ladder.ts';
export type { PushOutcome } from './apns/outcome.ts';
export { alertPush, mdmPush, type Push } from './apns/push.ts';
export {
  type PushCertificate,
  type PushCertificateFiles,
  readPushCertificate,
} from './apns/push-certificate.ts';
export {
  type Authority,
  type AuthorityFiles,
  createAuthority,
  loadAuthority,
  type NewAuthority,
} from './ca/authority.ts';
export {
  buildCommand,
  type Command,
  checkCommand,
  MOST_COMMAND_BYTES,
  parseCommand,
} from './commands/command.ts';
export { mayBeNotNow } from './commands/known-commands.ts';
export * as commands from './commands/make.ts';
export { certificateHash, readCertificate } from './identity/certificate.ts';
export type { CertificateMemory, Remembered } from './identity/device-certificate.ts';
export { type Identity, identify, type Presented } from './identity/identify.ts';
export { Trust } from './identity/trust.ts';
export { MdmError, type MdmErrorCode } from './mdm-error.ts';
export type { Channel, UserOfDevice } from './messages/channel.ts';
export { type Authenticate, type CheckIn, parseCheckIn, type TokenUpdate } from './messages/check-in.ts';
export { isCheckIn } from './messages/content-type.ts';
export { type ErrorLink, type ReadReport, type Report, readReport } from './messages/report.ts';
export type { Salvaged } from './messages/salvage.ts';
export { buildPlist } from './plist/build-plist.ts';
export {
  PLIST_LIMITS,
  type PlistDict,
  type PlistLimits,
  type PlistValue,
  parsePlist,
} from './plist/parse-plist.ts';
export { type Json, plistFromJson, plistToJson } from './plist/plist-json.ts';
export {
  buildEnrolmentProfile,
  type EnrolmentProfile,
  PROFILE_CONTENT_TYPE,
} from './profile/enrolment-profile.ts';
export {
  type Asked,
  answerScep,
  decodeMessage,
  type ScepAnswer,
  type ScepRequest,
  type ScepServer,
} from './scep/answer-scep.ts';
export { commonNameOf, type SubjectName } from './scep/subject.ts';
