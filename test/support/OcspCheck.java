// Whether Java accepts a certificate whose status it asks for by OCSP. Usage: java OcspCheck.java URL ANCHOR LEAF ISSUER.
// Prints `accepted`, or why not; nothing else than OCSP is asked.

import java.io.FileInputStream;
import java.net.URI;
import java.security.cert.CertPathValidator;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Set;

public class OcspCheck {
  public static void main(String[] args) throws Exception {
    var validator = CertPathValidator.getInstance("PKIX");
    var checker = (PKIXRevocationChecker) validator.getRevocationChecker();
    checker.setOcspResponder(URI.create(args[0]));
    checker.setOptions(Set.of(PKIXRevocationChecker.Option.ONLY_END_ENTITY, PKIXRevocationChecker.Option.NO_FALLBACK));
    var parameters = new PKIXParameters(Set.of(new TrustAnchor(read(args[1]), null)));
    parameters.addCertPathChecker(checker);
    var path = CertificateFactory.getInstance("X.509").generateCertPath(List.of(read(args[2]), read(args[3])));
    try {
      validator.validate(path, parameters);
      System.out.println("accepted");
    } catch (CertPathValidatorException refused) {
      System.out.println(refused.getReason() + " " + refused.getMessage());
    }
  }

  private static X509Certificate read(String file) throws Exception {
    try (var bytes = new FileInputStream(file)) {
      return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(bytes);
    }
  }
}
