import { readFileSync } from 'node:fs';
import { type PushCertificate, readPushCertificate } from '@muster/mdm';
import { type Config, SettingError } from '../../../config.ts';

/** The APNs settings; an unusable certificate stops the start. */
export interface CertificatesOfSettings {
  readonly mdm: PushCertificate | null;
  /** All three of its settings, or none. */
  readonly message: PushCertificate | null;
  readonly ca: string | null;
}

type PemSetting = 'APNS_CA' | 'APNS_CERT' | 'APNS_KEY' | 'APNS_MESSAGE_CERT' | 'APNS_MESSAGE_KEY';

export function certificatesOfSettings(config: Config): CertificatesOfSettings {
  const mdm = certificate(config, 'APNS_CERT', 'APNS_KEY');
  if (mdm && !mdm.topic.startsWith('com.apple.mgmt.'))
    throw new SettingError('APNS_CERT', `is for ${mdm.topic}, not for device management.`);
  const topic = config.APNS_MESSAGE_TOPIC;
  const message = certificate(config, 'APNS_MESSAGE_CERT', 'APNS_MESSAGE_KEY');
  if (message && topic === null)
    throw new SettingError('APNS_MESSAGE_TOPIC', 'is missing: the bundle id of the companion app.');
  return {
    mdm,
    message: message && topic !== null ? { ...message, topic } : null,
    ca: pem(config, 'APNS_CA'),
  };
}

function certificate(config: Config, cert: PemSetting, key: PemSetting): PushCertificate | null {
  const [certificatePem, keyPem] = [pem(config, cert), pem(config, key)];
  if (certificatePem === null && keyPem === null) return null;
  if (certificatePem === null || keyPem === null)
    throw new SettingError(
      certificatePem === null ? cert : key,
      'is missing; certificate and key must be set together.',
    );
  try {
    return readPushCertificate({ certificate: certificatePem, key: keyPem });
  } catch (error) {
    throw new SettingError(cert, `or ${key} cannot be used: ${(error as Error).message}`);
  }
}

/** The value is not repeated in the error: it may be the key itself. */
function pem(config: Config, name: PemSetting): string | null {
  const value = config[name];
  if (value === null || value.includes('-----BEGIN')) return value;
  try {
    return readFileSync(value, 'utf8');
  } catch (error) {
    throw new SettingError(name, `is not a readable file (${(error as NodeJS.ErrnoException).code}).`);
  }
}
