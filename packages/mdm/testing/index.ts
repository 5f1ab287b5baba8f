/** For tests of whoever uses this package: certificates, a fake APNs, a simulated device. */
export {
  type CertificateWish,
  issuerOf,
  type TestCertificate,
  testAuthority,
  testCertificate,
} from './certificates.ts';
export { type FakeAnswer, FakeApns, type SeenPush } from './fake-apns.ts';
export { ecKeys, type KeyPair, rsaKeys } from './keys.ts';
export type { Answer, ReceivedCommand } from './simulator/answers.ts';
export type { DeviceChannel } from './simulator/device-channel.ts';
export { ScepRefused } from './simulator/enrol-by-scep.ts';
export { Phone, type PhoneOptions } from './simulator/phone.ts';
export { type ReadProfile, readProfile } from './simulator/read-profile.ts';
export { Dropped, Refused, type Reply, type Sent, send } from './simulator/send.ts';
