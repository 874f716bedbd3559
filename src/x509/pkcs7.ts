// Certificates in one PKCS#7 file: SignedData without content and signers (RFC 5652 section 5.1, RFC 8551 section 3.8).
import { emptySet, encodeDer, explicit, implicitSetOfRaw, integer, oid, sequence } from './der-writer.ts';
import { oids } from './oids.ts';

const V1 = 1;

/** `certificates` are DER; BER keeps their order, so that `openssl pkcs7 -print_certs` prints the leaf first. */
export const certsOnlyPkcs7 = (certificates: readonly Buffer[]): Buffer =>
  encodeDer(
    sequence(
      oid(oids.signedData),
      explicit(
        0,
        sequence(
          integer(V1),
          emptySet(),
          sequence(oid(oids.data)),
          implicitSetOfRaw(0, Buffer.concat(certificates)),
          emptySet(),
        ),
      ),
    ),
  );
