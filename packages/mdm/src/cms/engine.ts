import { webcrypto } from 'node:crypto';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';

/** The library omits the NULL parameter of RSA algorithms (RFC 4055), which strict readers require. */
class Engine extends pkijs.CryptoEngine {
  override async getSignatureParameters(key: webcrypto.CryptoKey, hash?: string) {
    const found = await super.getSignatureParameters(key, hash);
    if (key.algorithm.name === 'RSASSA-PKCS1-v1_5')
      found.signatureAlgorithm.algorithmParams = new asn1js.Null();
    return found;
  }
}

export const engine = new Engine({ name: 'node', crypto: webcrypto });
