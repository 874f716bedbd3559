// acme4j, from Maven Central: a library; test/e2e/java/Acme4j.java is what a program that uses it would be.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { serveWebRoot } from '../applicant.ts';
import type { Client, Context, Issued, Session, Wanted } from '../client.ts';
import { fetchJavaLibrary } from '../fetch.ts';
import { run } from '../run.ts';

const VERSION = '4.0.0';
const PROGRAM = join(import.meta.dirname, '../java/Acme4j.java');

export const acme4j: Client = {
  name: 'acme4j',
  source: 'Maven Central',
  challenges: ['http-01', 'dns-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: true,
  hasIpAddresses: true,
  asksForDays: true,
  async fetch() {
    const classPath = await fetchJavaLibrary('org.shredzone.acme4j', 'acme4j-client', VERSION);
    await run({ program: 'javac', args: ['-version'] });
    return { version: VERSION, open: (context) => openSession(classPath, context) };
  },
};

async function openSession(
  classPath: string,
  { directoryUrl, caFile, eab, applicant, folder }: Context,
): Promise<Session> {
  const [classes, webRoot, store] = [join(folder, 'classes'), join(folder, 'web-root'), join(folder, 'anchors.p12')];
  await mkdir(webRoot);
  await run({ program: 'javac', args: ['-cp', classPath, '-d', classes, PROGRAM] });
  const password = ['-storepass', 'changeit', '-storetype', 'PKCS12'];
  await run({
    program: 'keytool',
    args: ['-importcert', '-noprompt', '-file', caFile, '-keystore', store, ...password],
  });
  const trust = [`-Djavax.net.ssl.trustStore=${store}`, '-Djavax.net.ssl.trustStorePassword=changeit'];
  const java = (verb: string, given: Readonly<Record<string, string>>): Promise<string> => {
    const pairs = Object.entries(given).map(([name, value]) => `${name}=${value}`);
    const args = [...trust, '-cp', `${classes}:${classPath}`, 'Acme4j', folder, directoryUrl, verb, ...pairs];
    return run({ program: 'java', args });
  };
  const issue = async (wanted: Wanted, more: Readonly<Record<string, string>> = {}): Promise<Issued> => {
    const { names, keyType, challenge, days } = wanted;
    await using _server = challenge === 'http-01' ? await serveWebRoot(webRoot, applicant.httpPort) : undefined;
    const issued = issuedOf(folder, wanted);
    await java('issue', {
      names: names.join(','),
      key: keyType,
      challenge,
      txt: applicant.txtUrl,
      file: issued.chainFile.replace(/\.pem$/, ''),
      ...(days !== undefined && { days: String(days) }),
      ...more,
    });
    return issued;
  };
  return {
    register: () => java('register', { kid: eab.kid, hmac: eab.hmac }),
    issue,
    renew: (wanted) => issue(wanted, { replaces: issuedOf(folder, wanted).chainFile }),
    revoke: {
      account: (_, { chainFile }) => java('revoke', { chain: chainFile }),
      certificate_key: (_, { chainFile, keyFile }) => java('revoke', { chain: chainFile, key: keyFile }),
    },
    changeKey: () => java('change-key', {}),
  };
}

function issuedOf(folder: string, { names: [first = ''] }: Wanted): Issued {
  const file = join(folder, first.replace('*', 'wildcard'));
  return { chainFile: `${file}.pem`, keyFile: `${file}.key` };
}
