// Whether Java accepts certificates whose revocation it looks up where they say. Usage:
// java RevocationCheck.java MODE ANCHOR ISSUER LEAF..., four words for each, where the mode is `ocsp` or `crl`: the other
// way is not taken. Prints a line for each: `accepted`, or why not. The issuer is looked up like the leaf.

import java.io.FileInputStream;
import java.security.cert.CertPathValidator;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

public class RevocationCheck {
  public static void main(String[] args) throws Exception {
    for (int index = 0; index < args.length; index += 4) {
      System.out.println(check(args[index], read(args[index + 1]), read(args[index + 2]), read(args[index + 3])));
    }
  }

  private static String check(String mode, X509Certificate anchor, X509Certificate issuer, X509Certificate leaf)
      throws Exception {
    var validator = CertPathValidator.getInstance("PKIX");
    var checker = (PKIXRevocationChecker) validator.getRevocationChecker();
    var options = EnumSet.of(PKIXRevocationChecker.Option.NO_FALLBACK);
    if (mode.equals("crl")) options.add(PKIXRevocationChecker.Option.PREFER_CRLS);
    checker.setOptions(options);
    var parameters = new PKIXParameters(Set.of(new TrustAnchor(anchor, null)));
    parameters.addCertPathChecker(checker);
    var path = CertificateFactory.getInstance("X.509").generateCertPath(List.of(leaf, issuer));
    try {
      validator.validate(path, parameters);
      return "accepted";
    } catch (CertPathValidatorException refused) {
      return refused.getIndex() + " " + refused.getReason() + " " + refused.getMessage();
    }
  }

  private static X509Certificate read(String file) throws Exception {
    try (var bytes = new FileInputStream(file)) {
      return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(bytes);
    }
  }
}
