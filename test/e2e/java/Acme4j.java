// What a Java program does with acme4j. Usage: java Acme4j.java FOLDER DIRECTORY_URL register|issue|revoke|change-key KEY=VALUE...

import java.io.FileInputStream;
import java.io.FileReader;
import java.io.FileWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.Security;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.shredzone.acme4j.Account;
import org.shredzone.acme4j.AccountBuilder;
import org.shredzone.acme4j.Authorization;
import org.shredzone.acme4j.Certificate;
import org.shredzone.acme4j.Identifier;
import org.shredzone.acme4j.Login;
import org.shredzone.acme4j.RevocationReason;
import org.shredzone.acme4j.Session;
import org.shredzone.acme4j.Status;
import org.shredzone.acme4j.challenge.Challenge;
import org.shredzone.acme4j.challenge.Dns01Challenge;
import org.shredzone.acme4j.challenge.Http01Challenge;
import org.shredzone.acme4j.util.KeyPairUtils;

public class Acme4j {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Path folder;
    private final Session session;
    private final Map<String, String> given = new HashMap<>();

    private Acme4j(Path folder, String directoryUrl, String[] pairs, int first) {
        this.folder = folder;
        this.session = new Session(directoryUrl);
        for (int index = first; index < pairs.length; index++) {
            String[] pair = pairs[index].split("=", 2);
            given.put(pair[0], pair[1]);
        }
    }

    public static void main(String[] args) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        Acme4j program = new Acme4j(Path.of(args[0]), args[1], args, 3);
        switch (args[2]) {
            case "register" -> program.register();
            case "issue" -> program.issue();
            case "revoke" -> program.revoke();
            case "change-key" -> program.changeKey();
            default -> throw new IllegalArgumentException(args[2]);
        }
    }

    private void register() throws Exception {
        KeyPair key = KeyPairUtils.createECKeyPair("secp256r1");
        new AccountBuilder()
                .agreeToTermsOfService()
                .addEmail("admin@corp.example")
                .withKeyIdentifier(given.get("kid"), given.get("hmac"))
                .useKeyPair(key)
                .create(session);
        writeKey(key, accountKey());
    }

    private void issue() throws Exception {
        Account account = login().getAccount();
        var builder = account.newOrder();
        for (String name : given.get("names").split(",")) builder.identifier(identifier(name));
        if (given.containsKey("days")) {
            Instant end = Instant.now().plus(Long.parseLong(given.get("days")), ChronoUnit.DAYS);
            builder.notAfter(end.truncatedTo(ChronoUnit.SECONDS));
        }
        if (given.containsKey("replaces")) builder.replaces(certificateIn(given.get("replaces")));
        var order = builder.create();
        for (Authorization authorization : order.getAuthorizations()) {
            if (authorization.getStatus() != Status.VALID) authorize(authorization);
        }
        order.waitUntilReady(PATIENCE);
        KeyPair key = given.get("key").equals("ec_256")
                ? KeyPairUtils.createECKeyPair("secp256r1")
                : KeyPairUtils.createKeyPair(2048);
        order.execute(key);
        if (order.waitForCompletion(PATIENCE) != Status.VALID) throw new IllegalStateException(order.getError().toString());
        writeKey(key, Path.of(given.get("file") + ".key"));
        try (FileWriter writer = new FileWriter(given.get("file") + ".pem")) {
            order.getCertificate().writeCertificate(writer);
        }
    }

    private void authorize(Authorization authorization) throws Exception {
        Challenge challenge;
        if (given.get("challenge").equals("http-01")) {
            Http01Challenge http = authorization.findChallenge(Http01Challenge.class).orElseThrow();
            Files.writeString(folder.resolve("web-root").resolve(http.getToken()), http.getAuthorization());
            challenge = http;
        } else if (given.get("challenge").equals("dns-01")) {
            Dns01Challenge dns = authorization.findChallenge(Dns01Challenge.class).orElseThrow();
            present(dns.getRRName(authorization.getIdentifier()), dns.getDigest());
            challenge = dns;
        } else {
            throw new IllegalStateException("nobody is there for a challenge of " + authorization.getIdentifier());
        }
        challenge.trigger();
        if (challenge.waitForCompletion(PATIENCE) != Status.VALID) {
            throw new IllegalStateException(challenge.getError().toString());
        }
        authorization.waitForCompletion(PATIENCE);
    }

    private void present(String name, String value) throws Exception {
        String record = "{\"fqdn\":\"" + name + "\",\"value\":\"" + value + "\"}";
        HttpRequest request = HttpRequest.newBuilder(URI.create(given.get("txt") + "/present"))
                .POST(HttpRequest.BodyPublishers.ofString(record))
                .build();
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding());
    }

    private void revoke() throws Exception {
        X509Certificate certificate = certificateIn(given.get("chain"));
        if (given.containsKey("key")) {
            KeyPair key = KeyPairUtils.readKeyPair(new FileReader(given.get("key")));
            Certificate.revoke(session, key, certificate, RevocationReason.KEY_COMPROMISE);
        } else {
            Certificate.revoke(login(), certificate, RevocationReason.SUPERSEDED);
        }
    }

    private void changeKey() throws Exception {
        KeyPair key = KeyPairUtils.createKeyPair(2048);
        login().getAccount().changeKey(key);
        writeKey(key, accountKey());
    }

    private Login login() throws Exception {
        KeyPair key = KeyPairUtils.readKeyPair(new FileReader(accountKey().toFile()));
        return new AccountBuilder().onlyExisting().useKeyPair(key).createLogin(session);
    }

    private Path accountKey() {
        return folder.resolve("account.key");
    }

    private static void writeKey(KeyPair key, Path file) throws Exception {
        try (FileWriter writer = new FileWriter(file.toFile())) {
            KeyPairUtils.writeKeyPair(key, writer);
        }
    }

    private static Identifier identifier(String name) throws Exception {
        return name.matches("[0-9.]+") ? Identifier.ip(name) : Identifier.dns(name);
    }

    private static X509Certificate certificateIn(String file) throws Exception {
        try (FileInputStream input = new FileInputStream(file)) {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(input);
        }
    }
}
