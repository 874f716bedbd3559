// Known weaknesses of RSA moduli: small factors, the ROCA generator, factors that are close to each other.

/** What is wrong with a modulus of 2048 bits or more; undefined when nothing is known against it. */
export function rsaWeakness(modulus: bigint): string | undefined {
  if (hasSmallFactor(modulus)) return 'its modulus has a small factor';
  if (isRocaModulus(modulus)) return 'it was made by a faulty generator (ROCA, CVE-2017-15361)';
  if (hasCloseFactors(modulus)) return 'the factors of its modulus are too close to each other';
  return undefined;
}

const FACTORS_BELOW = 752;
const FERMAT_ROUNDS = 110;

const primes = primesBelow(FACTORS_BELOW);
const product = primes.reduce((all, prime) => all * BigInt(prime), 1n);

/** One division by the product of all small primes; the rest is done on plain numbers. */
function hasSmallFactor(modulus: bigint): boolean {
  const remainder = modulus % product;
  return primes.some((prime) => remainder % BigInt(prime) === 0n);
}

// ROCA primes are k * M + (65537^a mod M) with M a product of the first primes, so the modulus of such a key is a power
// of 65537 modulo each of them. The 39 primes to 167 belong to the smallest M (512 bit keys) and to every larger one.
const rocaPrimes = primes.filter((prime) => prime <= 167).map((prime) => ({ prime, powers: powersOf65537(prime) }));
const rocaProduct = rocaPrimes.reduce((all, { prime }) => all * BigInt(prime), 1n);

function isRocaModulus(modulus: bigint): boolean {
  const remainder = modulus % rocaProduct;
  return rocaPrimes.every(({ prime, powers }) => powers.has(Number(remainder % BigInt(prime))));
}

function powersOf65537(prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1 % prime; !powers.has(power); power = (power * 65_537) % prime) powers.add(power);
  return powers;
}

/** Fermat's method: n = a^2 - b^2 with a just above the root of n, for so many values of a. */
function hasCloseFactors(modulus: bigint): boolean {
  let a = squareRoot(modulus);
  if (a * a === modulus) return true;
  a += 1n;
  let difference = a * a - modulus;
  for (let round = 0; round < FERMAT_ROUNDS; round++) {
    if (isSquare(difference)) return true;
    difference += 2n * a + 1n;
    a += 1n;
  }
  return false;
}

// Squares leave few remainders: these four moduli send 99 of 100 other numbers away before a root is taken.
const squareFilters = [64, 63, 65, 11].map((modulus) => ({
  modulus,
  remainders: new Set(Array.from({ length: modulus }, (_, value) => (value * value) % modulus)),
}));
const FILTER_PRODUCT = 64 * 63 * 65 * 11;

function isSquare(value: bigint): boolean {
  const remainder = Number(value % BigInt(FILTER_PRODUCT));
  if (!squareFilters.every(({ modulus, remainders }) => remainders.has(remainder % modulus))) return false;
  const root = squareRoot(value);
  return root * root === value;
}

/** The whole part of the square root, by Newton's method from a start that is never too small. */
function squareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  const bits = value.toString(16).length * 4;
  // The leading 52 bits give half of the digits a double has; an even shift keeps the root whole.
  const shift = BigInt(Math.max(0, bits - 52) & ~1);
  const start = BigInt(Math.ceil(Math.sqrt(Number(value >> shift)) + 1));
  let root = start << (shift / 2n);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

function primesBelow(limit: number): readonly number[] {
  const numbers = Array.from({ length: limit }, (_, value) => value).slice(2);
  return numbers.filter((value) => numbers.every((factor) => factor >= value || value % factor !== 0));
}
