/** A phone, an APNs and certificates for tests, and for the simulated fleet. */
export {
  type CertificateWish,
  issuerOf,
  type TestCertificate,
  testAuthority,
  testCertificate,
} from './certificates.ts';
export { type FakeAnswer, FakeApns, type SeenPush } from './fake-apns.ts';
export { ecKeys, type KeyPair, rsaKeys } from './keys.ts';
export type { Answer, ReceivedCommand } from './phone/answers.ts';
export type { DeviceChannel } from './phone/device-channel.ts';
export { ScepRefused } from './phone/enrol-by-scep.ts';
export { Phone, type PhoneOptions } from './phone/phone.ts';
export { type ReadProfile, readProfile } from './phone/read-profile.ts';
export { Dropped, Refused, type Reply, type Sent, send } from './phone/send.ts';
