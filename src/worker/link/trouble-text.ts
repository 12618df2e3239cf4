/** Codes of Node for certificates that no trusted authority has signed. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** Codes that a device with a wrong clock sees, too. */
const WRONG_TIME = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Says in one sentence why a request failed, and what to do where that is known. */
export function reasonOf(
  message: string,
  code: string,
  { manager, ca }: { manager: string; ca: string | null },
): string {
  const advice = adviceFor(code, ca);
  return `${manager}: ${message}${advice === null ? '' : `; ${advice}`}`;
}

function adviceFor(code: string, ca: string | null): string | null {
  if (UNTRUSTED.has(code))
    return ca === null
      ? 'set MANAGER_CA_FILE to the certificate of the authority that signed it'
      : 'MANAGER_CA_FILE does not have the authority that signed it';
  if (WRONG_TIME.has(code)) return 'check the clock of this device and the certificate of the manager';
  if (code === 'ENOTFOUND') return 'check the host name in MANAGER, and DNS';
  if (code === 'EPROTO') return 'does the manager speak https there?';
  return null;
}
