import { Secret } from "otpauth";
import { expect, test } from "vitest";
import { acceptedStep, checkPassword, createPasswordHasher, defaultHashCost, newTotpSecret, totpUri } from "./credentials.ts";

const anywhere = { site: "203.0.113.9", isKnown: false };

test("a password matches its hash only; the hash names argon2id and OWASP's parameters", async () => {
  const hasher = createPasswordHasher();
  const hash = await hasher.make("correct horse battery");
  expect(hash).toMatchObject({ algorithm: "argon2id", memory: 19_456, passes: 2, parallelism: 1 });
  expect(await hasher.matches("correct horse battery", hash, anywhere)).toBe(true);
  expect(await hasher.matches("correct horse batterz", hash, anywhere)).toBe(false);
  expect(await hasher.matches("correct horse battery", undefined, anywhere)).toBe(false);
  expect(await hasher.make("correct horse battery")).not.toEqual(hash);
});

test("hashes made with other parameters still match", async () => {
  const hash = await createPasswordHasher({ memory: 64, passes: 1, parallelism: 1 }).make("correct horse battery");
  expect(await createPasswordHasher(defaultHashCost).matches("correct horse battery", hash, anywhere)).toBe(true);
});

test("too many logins at once are refused, not queued without end", async () => {
  const hasher = createPasswordHasher({ memory: 64, passes: 1, parallelism: 1 });
  const results = await Promise.allSettled(Array.from({ length: 100 }, () => hasher.matches("x", undefined, anywhere)));
  const refused = results.filter((result) => result.status === "rejected");
  expect(refused).toHaveLength(34);
  expect(refused[0]?.reason).toMatchObject({ code: "limit" });
  expect(await hasher.matches("x", undefined, anywhere)).toBe(false);
});

test("logins of one site keep neither another site out, nor those who have logged in before", async () => {
  const hasher = createPasswordHasher({ memory: 64, passes: 1, parallelism: 1 });
  const crowd = Array.from({ length: 100 }, () => hasher.matches("x", undefined, anywhere));
  const settled = Promise.allSettled(crowd);
  const order: string[] = [];
  const one = async (name: string, attempt: typeof anywhere): Promise<void> => {
    expect(await hasher.matches("x", undefined, attempt)).toBe(false);
    order.push(name);
  };
  const last = crowd[60]?.then(() => order.push("the crowd"));
  await Promise.all([one("another site", { ...anywhere, site: "2001:db8:1" }), one("known", { ...anywhere, isKnown: true }), last]);
  expect(order.at(-1)).toBe("the crowd");
  expect((await settled).filter(({ status }) => status === "rejected")).toHaveLength(35);
});

test.for([
  ["x".repeat(11), false],
  ["x".repeat(12), true],
  ["💂".repeat(11), false],
  ["x".repeat(128), true],
  ["x".repeat(129), false],
] as const)("the password %j is long enough and not too long: %s", ([password, accepted]) => {
  if (accepted) checkPassword(password);
  else expect(() => checkPassword(password)).toThrow(expect.objectContaining({ code: "invalid" }));
});

/** RFC 6238 appendix B, SHA-1, the last six of its eight digits. */
const rfcSecret = new Secret({ buffer: new TextEncoder().encode("12345678901234567890").buffer }).base32;
test.for([
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
] as const)("at second %i the code is %s, and it is taken one step early or late, once", ([second, code]) => {
  const step = Math.floor(second / 30);
  const ask = (at: number, lastStep?: number) => acceptedStep({ secret: rfcSecret, code, now: new Date(at * 1000), lastStep });
  expect(ask(second)).toBe(step);
  expect(ask(second + 30)).toBe(step);
  expect(ask(second - 30)).toBe(step);
  expect(ask(second + 90)).toBeUndefined();
  expect(ask(second, step)).toBeUndefined();
  expect(ask(second, step - 1)).toBe(step);
});

test.for(["", "12345", "1234567", "abcdef", "１２３４５６", "287082 "])("%j is not a code", (code) => {
  expect(acceptedStep({ secret: rfcSecret, code, now: new Date(59_000), lastStep: undefined })).toBeUndefined();
});

test("the address for an authenticator names cluster, user and secret", () => {
  const secret = newTotpSecret();
  const uri = new URL(totpUri({ secret, user: "alice@example.com", cluster: "test" }));
  expect(uri.protocol).toBe("otpauth:");
  expect(decodeURIComponent(uri.pathname)).toContain("test:alice@example.com");
  expect(Object.fromEntries(uri.searchParams)).toEqual({ issuer: "test", secret, algorithm: "SHA1", digits: "6", period: "30" });
  expect(newTotpSecret()).not.toBe(secret);
});
