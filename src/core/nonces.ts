// Anti-replay nonces (RFC 8555 section 6.5): made without a store, spent once in the whole cluster.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  deleteSpentNonces,
  findNonceKey,
  insertNonceKey,
  type NonceClaim,
  type NonceClaimed,
} from '../store/nonces.ts';
import { AcmeError } from './acme-error.ts';
import type { Ca } from './ca.ts';
import { hmacSha256 } from './hmac.ts';
import { randomPieces } from './random-pieces.ts';

export type Nonces = {
  /** A fresh one; asks nobody. */
  issue(): string;
  /** What of one is to be spent. Throws `malformed` for text that can be no nonce (NON-8), and `badNonce`. */
  read(nonce: string): Promise<NonceClaim>;
  /** Throws `badNonce` for one that somebody else has spent, or that nobody can any more. */
  requireClaimed(outcome: NonceClaimed): Promise<void>;
};

/** NON-12. */
const LIVES_SECONDS = 3_600;
/** A spent nonce stays known for longer than it lives, by more than the clocks of two replicas can be apart. */
const KEPT_SECONDS = 2 * LIVES_SECONDS;
const SWEEP_BATCH = 1_000;

// Time, random bytes, and a MAC over both: the first two are what is kept of a spent one.
const TIME_BYTES = 4;
const UNIQUE_BYTES = 12;
const MAC_BYTES = 16;
const TEXT = /^[A-Za-z0-9_-]+$/;

type MacKey = { readonly kid: string; readonly mac: (message: Buffer) => Buffer };

/** Reads the key that all replicas share, or makes it. */
export async function openNonces({ database: { db }, clock }: Pick<Ca, 'database' | 'clock'>): Promise<Nonces> {
  let current = await sharedKey();

  async function sharedKey(): Promise<MacKey> {
    const found = await findNonceKey(db);
    if (found !== undefined) return { kid: found.kid, mac: hmacSha256(found.key) };
    await insertNonceKey(db, { kid: randomBytes(9).toString('base64url'), key: randomBytes(32) });
    return sharedKey();
  }
  /** A crash of the database, or of the one before it, left us with a key that nobody knows. */
  const readAgain = async (): Promise<void> => {
    current = await sharedKey();
  };
  const nextRandom = randomPieces(UNIQUE_BYTES - TIME_BYTES);
  const made = Buffer.alloc(UNIQUE_BYTES + MAC_BYTES);
  const madeUnique = made.subarray(0, UNIQUE_BYTES);
  const nowSeconds = () => Math.floor(clock.now().getTime() / 1000);

  return {
    issue() {
      made.writeUInt32BE(nowSeconds());
      nextRandom().copy(made, TIME_BYTES);
      current.mac(madeUnique).copy(made, UNIQUE_BYTES);
      return made.toString('base64url');
    },
    async read(text) {
      if (!TEXT.test(text))
        throw new AcmeError(
          'malformed',
          'The nonce holds characters that base64url does not have (RFC 8555 section 6.5.2).',
        );
      const bytes = Buffer.from(text, 'base64url');
      if (bytes.length !== UNIQUE_BYTES + MAC_BYTES) throw badNonce('it is none of this server');
      const unique = bytes.subarray(0, UNIQUE_BYTES);
      if (nowSeconds() - unique.readUInt32BE(0) > LIVES_SECONDS) throw badNonce('it is too old');
      if (!isOurs(current, bytes)) {
        // Another replica may have found the key lost before us.
        await readAgain();
        if (!isOurs(current, bytes)) throw badNonce('it is none of this server, or from before the database was lost');
      }
      return { kid: current.kid, unique };
    },
    async requireClaimed(outcome) {
      if (outcome === 'claimed') return;
      if (outcome === 'spent') throw badNonce('it was used before');
      await readAgain();
      throw badNonce('it is from before the database was lost');
    },
  };
}

/** Forgets spent nonces whose time is over. */
export async function sweepNonces({ database: { db }, clock }: Ca): Promise<void> {
  const end = timeBytes(Math.floor(clock.now().getTime() / 1000) - KEPT_SECONDS);
  while ((await deleteSpentNonces(db, end, SWEEP_BATCH)) === SWEEP_BATCH);
}

function isOurs(key: MacKey, bytes: Buffer): boolean {
  const unique = bytes.subarray(0, UNIQUE_BYTES);
  return timingSafeEqual(macOf(key, unique), bytes.subarray(UNIQUE_BYTES));
}

const macOf = ({ mac }: MacKey, unique: Buffer): Buffer => mac(unique).subarray(0, MAC_BYTES);

function timeBytes(seconds: number): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeUInt32BE(seconds);
  return bytes;
}

// acme.sh recognises a lost nonce only by these words (G-1).
const badNonce = (why: string) =>
  new AcmeError('badNonce', `JWS has an invalid anti-replay nonce: ${why}. Try again with the nonce of this reply.`);
