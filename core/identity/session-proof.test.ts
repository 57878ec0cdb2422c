import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { generateKeys } from "../../test/inside/user-keys.ts";
import { string, u8, u32, u64 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { decodeSessionProof, isProven, maxSessionProof, type ProvenSession, type Prover, proofId, proveSession } from "./session-proof.ts";

const now = new Date("2026-11-23T08:00:00.123Z");
const nonce = Buffer.alloc(16, 7);
const session: ProvenSession = { cluster: "inside", hostId: "h-1", database: "orders", account: "reader" };

interface Person extends Prover {
  readonly der: Buffer;
}

let alice: Person;
let bob: Person;
beforeAll(async () => {
  const authorities = await insideAuthorities();
  const person = async (name: string): Promise<Person> => {
    const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await authorities.user(name);
    return { certificate, privateKey, der: new X509Certificate(certificate).raw };
  };
  [alice, bob] = await Promise.all([person("alice"), person("bob")]);
});

function code(act: () => unknown): string {
  try {
    act();
    return "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown.code;
    throw thrown;
  }
}

const made = (by: Prover = alice, what: ProvenSession = session) => decodeSessionProof(proveSession(what, by, { now, nonce }).subarray(4));

describe("a proof", () => {
  test("is these bytes, over this statement", () => {
    const frame = proveSession(session, alice, { now, nonce });
    const body = frame.subarray(4);
    expect(frame.readUInt32BE(0)).toBe(body.length);
    const head = Buffer.concat([u8(0xdb), u8(1), string("reader"), u64(now.getTime()), nonce]);
    expect(body.subarray(0, head.length)).toEqual(head);
    const { publicKey, fingerprint256 } = new X509Certificate(alice.certificate);
    const fingerprint = Buffer.from(fingerprint256.replaceAll(":", ""), "hex");
    const texts = ["platform: a user's session at a database, version 1", "inside", "h-1", "orders", "reader", fingerprint];
    const statement = Buffer.concat([...texts.map((one) => string(one)), u64(now.getTime()), nonce]);
    const signature = sign("sha256", statement, alice.privateKey);
    const own = Buffer.concat([head, string(signature)]);
    expect(publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
    expect(isProven(session, alice.der, decodeSessionProof(own))).toBe(true);
  });

  test("holds for its session and its certificate", () => {
    const proof = made();
    expect(proof).toMatchObject({ account: "reader", time: now, nonce });
    expect(isProven(session, alice.der, proof)).toBe(true);
  });

  test.for<[string, (proof: ReturnType<typeof made>) => boolean]>([
    ["another cluster", (proof) => isProven({ ...session, cluster: "other" }, alice.der, proof)],
    ["another host", (proof) => isProven({ ...session, hostId: "h-2" }, alice.der, proof)],
    ["another database", (proof) => isProven({ ...session, database: "payroll" }, alice.der, proof)],
    ["another account", (proof) => isProven(session, alice.der, { ...proof, account: "admin" })],
    ["no account", (proof) => isProven(session, alice.der, { ...proof, account: "" })],
    ["a later time", (proof) => isProven(session, alice.der, { ...proof, time: new Date(now.getTime() + 1) })],
    ["another nonce", (proof) => isProven(session, alice.der, { ...proof, nonce: Buffer.alloc(16, 8) })],
    ["another user", (proof) => isProven(session, bob.der, proof)],
    ["a signature of another key", (proof) => isProven(session, alice.der, { ...proof, signature: made(bob).signature })],
    ["an empty signature", (proof) => isProven(session, alice.der, { ...proof, signature: Buffer.alloc(0) })],
    ["bytes that are not a signature", (proof) => isProven(session, alice.der, { ...proof, signature: Buffer.alloc(70, 0x30) })],
    ["bytes that are not a certificate", (proof) => isProven(session, Buffer.from("x"), proof)],
    ["texts that are the same once joined", (proof) => isProven({ ...session, hostId: "h-1o", database: "rders" }, alice.der, proof)],
  ])("does not hold for %s", ([, holds]) => {
    expect(holds(made())).toBe(false);
  });

  test("does not hold for another certificate of the same key", () => {
    const other = Buffer.from(alice.der);
    // The last byte of the authority's signature: the key in the certificate is the same.
    other[other.length - 1] = (other.at(-1) ?? 0) ^ 1;
    expect(new X509Certificate(other).publicKey.equals(new X509Certificate(alice.der).publicKey)).toBe(true);
    expect(isProven(session, other, made())).toBe(false);
  });

  test("of the same session has the same id, however it is signed; any other one has another id", () => {
    const [one, two] = [made(), made()];
    expect(one.signature).not.toEqual(two.signature);
    expect(proofId(session, alice.der, one)).toBe(proofId(session, alice.der, two));
    const others = [
      proofId({ ...session, hostId: "h-2" }, alice.der, one),
      proofId(session, bob.der, one),
      proofId(session, alice.der, { ...one, nonce: Buffer.alloc(16) }),
      proofId(session, alice.der, { ...one, time: new Date(0) }),
    ];
    expect(new Set([proofId(session, alice.der, one), ...others]).size).toBe(5);
  });
});

test.for<[string, () => { readonly publicKey: KeyObject; readonly privateKey: KeyObject }]>([
  ["ed25519", () => generateKeyPairSync("ed25519")],
  ["P-384", () => generateKeyPairSync("ec", { namedCurve: "P-384" })],
  ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 })],
])("keys of the kind %s prove too", async ([, generate]) => {
  const { privateKey, publicKey } = generate();
  const authorities = await insideAuthorities();
  const tlsPublicKey = publicKey.export({ type: "spki", format: "pem" }).toString();
  const tlsPrivateKey = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const { tlsCertificate: certificate } = await authorities.user("alice", {}, { ...generateKeys(), tlsPublicKey, tlsPrivateKey });
  const prover = { certificate, privateKey: tlsPrivateKey };
  expect(isProven(session, new X509Certificate(certificate).raw, made(prover))).toBe(true);
});

describe("bytes of a proof", () => {
  const body = (parts: Partial<Record<"mark" | "version" | "account" | "time" | "nonce" | "signature" | "rest", Buffer>> = {}): Buffer => {
    const usual = { mark: u8(0xdb), version: u8(1), account: string("reader"), time: u64(now.getTime()), nonce, signature: string(Buffer.alloc(70)) };
    return Buffer.concat(Object.values({ ...usual, rest: Buffer.alloc(0), ...parts }));
  };

  test.for<[string, () => Buffer, string]>([
    ["as they should be", () => body(), "none"],
    ["nothing", () => Buffer.alloc(0), "invalid"],
    ["the request of a client without proofs", () => body({ mark: u8(2) }), "unsupported"],
    ["a later version", () => body({ version: u8(2) }), "unsupported"],
    ["a lying length", () => body({ account: u32(0xffff_ffff) }), "invalid"],
    ["an account that is not UTF-8", () => body({ account: string(Buffer.of(0xff)) }), "invalid"],
    ["a time beyond all dates", () => body({ time: u64(8_640_000_000_000_001n) }), "invalid"],
    ["a nonce that is too short", () => body({ nonce: Buffer.alloc(3) }), "invalid"],
    ["a byte too many", () => body({ rest: u8(0) }), "invalid"],
    ["more than the limit", () => body({ signature: string(Buffer.alloc(maxSessionProof)) }), "invalid"],
  ])("%s", ([, bytes, expected]) => {
    expect(code(() => decodeSessionProof(bytes()))).toBe(expected);
  });

  test("an account that is too long is refused by its sender", () => {
    expect(code(() => made(alice, { ...session, account: "x".repeat(maxSessionProof) }))).toBe("invalid");
  });

  test("every proof survives encoding", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 64 }).filter((value) => value.isWellFormed());
    const facts = fc.record({
      account: text,
      time: fc.date({ noInvalidDate: true, min: new Date(0) }),
      nonce: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    });
    fc.assert(
      fc.property(facts, ({ account, time, nonce: bytes }) => {
        const frame = proveSession({ ...session, account }, alice, { now: time, nonce: Buffer.from(bytes) });
        const proof = decodeSessionProof(frame.subarray(4));
        expect(proof).toMatchObject({ account, time, nonce: Buffer.from(bytes) });
        expect(isProven(session, alice.der, proof)).toBe(true);
      }),
    );
  });

  test("any bytes are decoded or refused with a PlatformError, and prove nothing", () => {
    const known = [body(), proveSession(session, alice, { now, nonce }).subarray(4)];
    const hostile = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.concat([u8(0xdb), u8(1), Buffer.from(bytes)])),
      fc.tuple(fc.constantFrom(...known), fc.nat(), fc.integer({ min: 1, max: 255 })).map(([bytes, at, change]) => {
        const changed = Buffer.from(bytes);
        changed[at % changed.length] = (changed[at % changed.length] ?? 0) ^ change;
        return changed;
      }),
    );
    fc.assert(
      fc.property(hostile, (bytes) => {
        let proof: ReturnType<typeof decodeSessionProof>;
        try {
          proof = decodeSessionProof(bytes);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
          return;
        }
        expect(isProven(session, alice.der, proof)).toBe(false);
      }),
    );
  });
});

test("a nonce of another length is a bug", () => {
  expect(() => proveSession(session, alice, { now, nonce: randomBytes(8) })).toThrow("a nonce has 16 bytes");
});
