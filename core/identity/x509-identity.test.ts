// Before toLegacyObject: see certificate-parts.
import "node:tls";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { X509Subject } from "./certificate-parts.ts";
import type { HostIdentity, UserIdentity } from "./identity.ts";
import { certifiedIdentity, decodeIdentity, encodeIdentity, fromX509Certificate, fromX509Subject, maxIdentity } from "./x509-identity.ts";

const validBefore = new Date("2026-11-20T12:00:00Z");
const user: UserIdentity = {
  kind: "user",
  name: "alice",
  userId: "0123456789abcdef".repeat(2),
  roles: ["access"],
  traits: { team: ["ops"] },
  principals: { ssh: { login: ["root"] }, db: { user: ["reader"], name: ["*", "a b", "Größe"] } },
  route: { kind: "app", name: "orders" },
  cluster: "example.com",
  sourceIp: "192.0.2.7",
  validBefore,
};
const host: HostIdentity = {
  kind: "host",
  id: "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11",
  role: "node",
  cluster: "example.com",
  names: ["web-1"],
  validBefore,
};

/** Names of things outside, with every kind of character: JSON, quotes, RFC 4514, half of a surrogate pair. */
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 }),
  fc.constantFrom("\\", '"', "a,b=c+d", "#04", " x ", "\0", "\ud800", "é", "e\u0301", "🙂", "%", "*", "{{x}}"),
);
const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,20}$/);
const kind = fc.stringMatching(/^[a-z][a-z_]{0,8}$/).filter((text) => text !== "ssh");
const login = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._@\\+-]{0,10}\$?$/);
const option = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** The schema of users drops a trait of this name, so that no identity has it. */
const isDropped = (traitName: string): boolean => traitName === "__proto__";
const userWith = (anyTraitName: fc.Arbitrary<string>) => {
  const traitName = anyTraitName.filter((text) => !isDropped(text));
  return fc
    .record({
      name,
      userId: option(fc.stringMatching(/^[0-9a-f]{32}$/)),
      roles: fc.array(name, { maxLength: 3 }),
      traits: fc.dictionary(traitName, fc.array(anyText, { maxLength: 2 }), { maxKeys: 3, noNullPrototype: true }),
      ssh: fc.array(login, { maxLength: 3 }),
      others: fc.dictionary(kind, fc.dictionary(kind, fc.array(anyText, { maxLength: 3 }), { maxKeys: 2, noNullPrototype: true }), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      route: option(fc.record({ kind, name: anyText, account: anyText }, { requiredKeys: ["kind", "name"] })),
      relayed: option(fc.record({ by: fc.uuid(), until: fc.constant("2026-11-20T13:00:00.000Z") })),
      mfa: option(fc.record({ device: fc.constant("otp"), kind, name: anyText, until: fc.constant("2026-11-20T14:00:00.000Z") })),
      sourceIp: option(fc.oneof(fc.ipV4(), fc.ipV6())),
    })
    .map(({ ssh, others, userId, route, relayed, mfa, sourceIp, ...rest }): UserIdentity => {
      const limits = { ...(route !== undefined && { route }), ...(route !== undefined && relayed !== undefined && { relayed }) };
      const given = { ...(userId !== undefined && { userId }), ...limits, ...(mfa && { mfa }), ...(sourceIp !== undefined && { sourceIp }) };
      return { kind: "user", ...rest, ...given, principals: { ...others, ssh: { login: ssh } }, cluster: "example.com", validBefore };
    });
};

test("any user survives its encoding, character by character", () => {
  fc.assert(
    fc.property(userWith(anyText), (identity) => {
      expect(decodeIdentity(encodeIdentity(identity), validBefore)).toEqual(identity);
    }),
  );
});

const authorities = await insideAuthorities("example.com");

test("any user survives a real certificate; a program of the version before reads the same, or refuses a certificate for one resource", async () => {
  const inAnHour = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000);
  await fc.assert(
    // The subject has traits as an object, whose keys may not need an escape: see encodeIdentity.
    fc.asyncProperty(userWith(fc.stringMatching(/^[a-zé./:-]{1,10}$/)), async ({ kind: _kind, name: user, ...facts }) => {
      const expected = { ...facts, kind: "user", name: user, validBefore: inAnHour };
      const certificate = new X509Certificate((await authorities.user(user, { ...facts, validBefore: inAnHour })).tlsCertificate);
      expect(fromX509Certificate(certificate)).toEqual(expected);
      const subject = { ...certificate.toLegacyObject().subject } as X509Subject;
      const before = (): unknown => fromX509Subject(subject, inAnHour);
      if (facts.route !== undefined || facts.mfa !== undefined) expect(before).toThrow(expect.objectContaining({ code: "unauthenticated" }));
      else expect(before()).toEqual({ ...expected, principals: { ssh: facts.principals.ssh } });
    }),
    { numRuns: someRuns(60) },
  );
});

test("node:tls works in a process that reads a certificate before anything else", async () => {
  const { tlsCertificate: cert } = await authorities.user("alice");
  const script = `
    import { X509Certificate } from "node:crypto";
    import { fromX509Certificate } from ${JSON.stringify(import.meta.resolve("./x509-identity.ts"))};
    const { name } = fromX509Certificate(new X509Certificate(process.argv[1]));
    const { createSecureContext } = await import("node:tls");
    console.log(name, typeof createSecureContext);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script, "--", cert]);
  expect(stdout).toBe("alice function\n");
});

test("a host survives a real certificate", async () => {
  const { tlsCertificate, hostId: id } = await authorities.host("web-1");
  const certificate = new X509Certificate(tlsCertificate);
  expect(fromX509Certificate(certificate)).toEqual({ ...host, id, validBefore: certificate.validToDate });
});

const oids: Readonly<Record<string, string>> = {
  CN: "03",
  serialNumber: "05",
  L: "07",
  ST: "08",
  street: "09",
  O: "0a",
  OU: "0b",
  description: "0d",
};
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, 0x83, 0, body.length >> 8, body.length & 0xff]), body]);
}

/** A certificate as Node shows it: this subject, and this value in the extension. */
function shown(subject: X509Subject, identity?: Buffer): X509Certificate {
  const oid = Buffer.from("2a864886f71401be40937a82ff5c819961839d64819f2a82c26e85cbdd63ddd55f01", "hex");
  const pairs = Object.entries(subject).flatMap(([attribute, values = []]) => [values].flat().map((value) => [attribute, value] as const));
  const sets = pairs.map(([attribute, value]) =>
    der(0x31, der(0x30, der(0x06, Buffer.from(`5504${oids[attribute]}`, "hex")), der(0x0c, Buffer.from(value)))),
  );
  const before = [der(0xa0), der(0x02), der(0x30), der(0x30), der(0x30)];
  const extensions = der(0xa3, der(0x30, ...(identity === undefined ? [] : [der(0x30, der(0x06, oid), der(0x04, identity))])));
  const raw = der(0x30, der(0x30, ...before, der(0x30, ...sets), extensions));
  return { raw, validToDate: validBefore } as X509Certificate;
}

const { route: _route, ...unlimited } = user;
const subjectOf = (traits: object): X509Subject => ({
  CN: "alice",
  OU: "user",
  O: "access",
  L: "root",
  ST: "example.com",
  street: "192.0.2.7",
  serialNumber: "0123456789abcdef".repeat(2),
  description: Buffer.from(JSON.stringify(traits)).toString("base64url"),
});
const subject = subjectOf({ team: ["ops"] });

test("a certificate of the version before, without the extension, is read from its subject", () => {
  expect(fromX509Certificate(shown(subject))).toEqual({ ...unlimited, principals: { ssh: { login: ["root"] } } });
  expect(fromX509Certificate(shown({ CN: host.id, OU: "host", O: "node", L: "web-1", ST: "example.com" }))).toEqual(host);
  expect(() => fromX509Certificate(shown({ CN: "alice", OU: "route" }))).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

test("subject and extension of one identity agree", () => {
  expect(fromX509Certificate(shown(subject, encodeIdentity(unlimited)))).toEqual(unlimited);
  expect(fromX509Certificate(shown({ CN: "alice", OU: "route" }, encodeIdentity(user)))).toEqual(user);
});

test.for<readonly [string, X509Subject, UserIdentity | HostIdentity]>([
  ["another name", { ...subject, CN: "bob" }, unlimited],
  ["another role", { ...subject, O: ["access", "editor"] }, unlimited],
  ["no role", { ...subject, O: undefined }, unlimited],
  ["another login", { ...subject, L: ["root", "admin"] }, unlimited],
  ["another cluster", { ...subject, ST: "example.org" }, unlimited],
  ["another address", { ...subject, street: "192.0.2.8" }, unlimited],
  ["no address", { ...subject, street: undefined }, unlimited],
  ["another id", { ...subject, serialNumber: "f".repeat(32) }, unlimited],
  ["other traits", subjectOf({ team: ["dev"] }), unlimited],
  ["a host's kind", { CN: host.id, OU: "host", O: "node", ST: "example.com" }, unlimited],
  ["a subject without a limit beside a route", subject, user],
  ["the mark of a route without one", { CN: "alice", OU: "route" }, unlimited],
  ["more than the name beside a route", { CN: "alice", OU: "route", O: "access" }, user],
  ["another name beside a route", { CN: "bob", OU: "route" }, user],
  ["a user's kind", subject, host],
  ["another host role", { CN: host.id, OU: "host", O: "auth", L: "web-1", ST: "example.com" }, host],
  ["another host name", { CN: host.id, OU: "host", O: "node", L: "web-2", ST: "example.com" }, host],
  ["nothing", {}, unlimited],
])("refused: a certificate whose subject has %s than its extension", ([, hostile, identity]) => {
  expect(() => fromX509Certificate(shown(hostile, encodeIdentity(identity)))).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

const fields = JSON.parse(encodeIdentity(user).toString()) as Record<string, unknown>;
const written = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
test.for<readonly [string, Buffer]>([
  ["nothing", Buffer.alloc(0)],
  ["null", written(null)],
  ["a list", written([fields])],
  ["an unknown field", written({ ...fields, admin: true })],
  ["a later version", written({ ...fields, v: 2 })],
  ["no version", written({ ...fields, v: undefined })],
  ["white space", Buffer.from(` ${JSON.stringify(fields)}`)],
  ["a field twice", Buffer.from(JSON.stringify(fields).replace('"name"', '"name":"root","name"'))],
  ["bytes that are not UTF-8", Buffer.concat([Buffer.from('{"v":1,"name":"'), Buffer.from([0xff]), Buffer.from('"}')])],
  ["an unknown field in the route", written({ ...fields, route: { kind: "app", name: "orders", port: 1 } })],
  ["a route to no account", written({ ...fields, route: { kind: "app", name: "orders", account: "" } })],
  ["the mark of no proxy", written({ ...fields, relayed: { until: "2026-11-20T13:00:00.000Z" } })],
  ["the mark of a proxy by its name", written({ ...fields, relayed: { by: "p1", until: "2026-11-20T13:00:00.000Z" } })],
  ["the mark of a proxy without an end", written({ ...fields, relayed: { by: host.id, until: "later" } })],
  ["a confirmation without its resource", written({ ...fields, mfa: { device: "otp", until: "2026-11-20T13:00:00.000Z" } })],
  ["a confirmation without an end", written({ ...fields, mfa: { device: "otp", kind: "ssh", name: host.id } })],
  ["a confirmation by nothing", written({ ...fields, mfa: { device: "", kind: "ssh", name: host.id, until: "2026-11-20T13:00:00.000Z" } })],
  ["a confirmation that is null", written({ ...fields, mfa: null })],
  ["a route without a name", written({ ...fields, route: { kind: "app" } })],
  ["a route that is null", written({ ...fields, route: null })],
  ["a route to nothing", written({ ...fields, route: { kind: "app", name: "" } })],
  ["a route of an odd kind", written({ ...fields, route: { kind: "App", name: "orders" } })],
  ["traits as an object", written({ ...fields, traits: { team: ["ops"] } })],
  [
    "a trait twice",
    written({
      ...fields,
      traits: [
        ["team", ["ops"]],
        ["team", ["dev"]],
      ],
    }),
  ],
  ["a trait without values", written({ ...fields, traits: [["team"]] })],
  ["a trait with more than values", written({ ...fields, traits: [["team", ["ops"], 1]] })],
  ["no principals", written({ ...fields, principals: undefined })],
  ["principals that are a list", written({ ...fields, principals: ["root"] })],
  ["a login that reads as an option", written({ ...fields, principals: { ssh: { login: ["-oProxyCommand=x"] } } })],
  ["an empty principal", written({ ...fields, principals: { db: { user: [""] } } })],
  ["a name with a new line", written({ ...fields, name: "alice\nroot" })],
  ["an address range", written({ ...fields, sourceIp: "10.0.0.0/8" })],
  ["an unknown kind", written({ ...fields, kind: "admin" })],
  ["an expiry of its own", written({ ...fields, validBefore: "2036-01-01T00:00:00Z" })],
  ["far too many bytes", written({ ...fields, traits: [["a", ["x".repeat(maxIdentity)]]] })],
])("refused: an extension with %s", ([, bytes]) => {
  expect(() => decodeIdentity(bytes, validBefore)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

test("an identity that is too long for a certificate is refused when it is issued, with what to shorten", () => {
  const traits = { team: Array.from({ length: 200 }, () => "x".repeat(200)) };
  expect(() => encodeIdentity({ ...user, traits })).toThrow(expect.objectContaining({ code: "invalid", hint: expect.stringContaining("traits") }));
});

test("hostile JSON in the extension gives an identity or an error", () => {
  const keys = fc.constantFrom(...Object.keys(fields));
  const hostile = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.tuple(keys, fc.jsonValue()).map(([key, value]) => written({ ...fields, [key]: value })),
  );
  fc.assert(
    fc.property(hostile, (bytes) => {
      try {
        decodeIdentity(bytes, validBefore);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
        expect(thrown).toMatchObject({ code: "unauthenticated" });
      }
    }),
  );
});

test("a certificate of a proxy for its user: accepted where relaying is expected, for one account, application or Kubernetes cluster, until the user's own certificate ends", async () => {
  const until = new Date(Math.floor(Date.now() / 1000) * 1000 + 7_200_000);
  const relayed = { by: host.id, until: until.toISOString() };
  const certified = async (route: UserIdentity["route"], mayBeRelayed?: boolean) => {
    const { tlsCertificate } = await authorities.user("alice", { relayed, ...(route && { route }) });
    const facts = {
      certificate: new X509Certificate(tlsCertificate).raw,
      authorities: [authorities.userCaPem],
      cluster: "example.com",
      now: new Date(),
    };
    return certifiedIdentity("user", { ...facts, ...(mayBeRelayed !== undefined && { mayBeRelayed }) }, "hint");
  };
  const route = { kind: "db", name: "orders", account: "reader" };
  expect(await certified(route, true)).toMatchObject({ name: "alice", route, relayed, validBefore: until });
  const toApp = { kind: "app", name: "wiki" };
  for (const one of [toApp, { kind: "kube", name: "prod" }]) {
    expect(await certified(one, true)).toMatchObject({ name: "alice", route: one, relayed, validBefore: until });
  }
  const refused: Parameters<typeof certified>[] = [[route], [route, false], [{ kind: "db", name: "orders" }, true], [undefined, true], [toApp]];
  for (const attempt of refused) {
    await expect(certified(...attempt)).rejects.toMatchObject({ code: "unauthenticated", message: expect.stringContaining("of a proxy") });
  }
});
