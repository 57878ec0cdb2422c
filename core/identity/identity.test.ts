import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { X509Subject } from "./certificate-parts.ts";
import { type HostIdentity, type Identity, inSession, type UserIdentity } from "./identity.ts";
import { fromSshCertificate, toSshCertificate } from "./ssh-identity.ts";
import { fromX509Subject, toX509Subject } from "./x509-identity.ts";

const validBefore = new Date("2026-11-20T12:00:00Z");
const user: UserIdentity = {
  kind: "user",
  name: "alice@example.com",
  roles: ["access", "editor"],
  traits: { logins: ["root"], team: ["ops", "dev"] },
  principals: { ssh: { login: ["root", "ubuntu"] } },
  cluster: "example.com",
  validBefore,
};
const host: HostIdentity = {
  kind: "host",
  id: "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11",
  role: "node",
  cluster: "example.com",
  names: ["web-1", "10.0.0.1"],
  validBefore,
};

/** Node's form of a subject: one value as text, several as a list. */
function asSubject(identity: Identity): X509Subject {
  const subject: Record<string, string | string[]> = {};
  for (const [attribute, value] of toX509Subject(identity)) {
    const before = subject[attribute];
    subject[attribute] = before === undefined ? value : [...(typeof before === "string" ? [before] : before), value];
  }
  return subject;
}

test.for<readonly [string, Identity]>([
  ["a user", user],
  ["a user without logins", { ...user, principals: { ssh: { login: [] } } }],
  ["a user without roles", { ...user, roles: [] }],
  ["a user with one role and one login", { ...user, roles: ["access"], principals: { ssh: { login: ["root"] } } }],
  ["a user without traits", { ...user, traits: {} }],
  ["a user with an id", { ...user, userId: "0123456789abcdef".repeat(2) }],
  ["a node", host],
  ["a host whose name ends in the cluster's", { ...host, names: ["web-1.example.com"] }],
  ["a proxy without names", { ...host, role: "proxy", names: [] }],
  ["the auth service", { ...host, role: "auth" }],
])("%s survives both kinds of certificate", ([, identity]) => {
  expect(fromSshCertificate(toSshCertificate(identity))).toEqual(identity);
  expect(fromX509Subject(asSubject(identity), validBefore)).toEqual(identity);
});

const confirmed = { ...user, mfa: { device: "otp", kind: "ssh", name: host.id, until: "2026-11-20T20:00:00.000Z" } };

test("a certificate that a code confirmed says for what, and how long its sessions last; with a part of it missing or changed it is none", () => {
  const fields = toSshCertificate(confirmed);
  expect(fromSshCertificate(fields)).toEqual(confirmed);
  expect(inSession(confirmed).validBefore).toEqual(new Date("2026-11-20T20:00:00.000Z"));
  expect(inSession(user)).toBe(user);
  const marks = ["mfa-verified", "prev-identity-expires", "mfa-target@platform.dev"];
  const without = (names: readonly string[]) => new Map([...fields.extensions].filter(([one]) => !names.includes(one)));
  expect(fromSshCertificate({ ...fields, extensions: without(marks) })).toEqual(user);
  const broken = [
    ...marks.map((mark) => without([mark])),
    ...marks.map((mark) => without(marks.filter((one) => one !== mark))),
    ...["", "[]", '{"kind":"ssh"}', '{"kind":"ssh","name":"x","admin":"y"}', '{"kind":"ssh","name":""}'].map((target) =>
      new Map(fields.extensions).set("mfa-target@platform.dev", target),
    ),
    new Map(fields.extensions).set("prev-identity-expires", "never"),
    new Map(fields.extensions).set("mfa-verified", ""),
  ];
  for (const [index, extensions] of broken.entries()) {
    expect(() => fromSshCertificate({ ...fields, extensions }), `case ${index}`).toThrow(expect.objectContaining({ code: "unauthenticated" }));
  }
});

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,20}$/);
const users = fc.record({
  kind: fc.constant("user" as const),
  name,
  roles: fc.array(name, { maxLength: 4 }),
  traits: fc.dictionary(fc.stringMatching(/^[a-z]{1,10}$/), fc.array(fc.string({ unit: "grapheme", maxLength: 10 }), { maxLength: 3 }), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
  principals: fc.record({ ssh: fc.record({ login: fc.array(fc.stringMatching(/^[a-z_][a-z0-9_-]{0,10}$/), { maxLength: 4 }) }) }),
  cluster: name,
  validBefore: fc.constant(validBefore),
});
const ids = fc.option(fc.stringMatching(/^[0-9a-f]{32}$/), { nil: undefined });

test("any user survives both kinds of certificate", () => {
  fc.assert(
    fc.property(users, ids, (known, userId) => {
      const identity = { ...known, ...(userId !== undefined && { userId }) };
      expect(fromSshCertificate(toSshCertificate(identity))).toEqual(identity);
      expect(fromX509Subject(asSubject(identity), validBefore)).toEqual(identity);
    }),
  );
});

test("a user without logins gets a principal that is not a login: to OpenSSH an empty list would mean all of them", () => {
  expect(toSshCertificate({ ...user, principals: { ssh: { login: [] } } }).principals).toEqual(["-no-login-"]);
});

test("a host answers to its id and names, plain and under its cluster, each once", () => {
  expect(toSshCertificate({ ...host, names: ["web-1", "web-1"] }).principals).toEqual([
    host.id,
    "web-1",
    `${host.id}.example.com`,
    "web-1.example.com",
  ]);
});

test("a certificate of the previous version has every name twice, without any other mark", () => {
  const { id } = host;
  const principals = [id, `${id}.example.com`, "web-1", "10.0.0.1", "web-1.example.com", "10.0.0.1.example.com"];
  const fields = toSshCertificate(host);
  const extensions = new Map([...fields.extensions].filter(([key]) => key !== "host-names@platform.dev"));
  expect(fromSshCertificate({ ...fields, principals, extensions })).toEqual(host);
});

const good = toSshCertificate(user);
const changed = (extension: string, value: string | undefined): typeof good => {
  const extensions = new Map(good.extensions);
  if (value === undefined) extensions.delete(extension);
  else extensions.set(extension, value);
  return { ...good, extensions };
};

test.for([
  ["no roles", changed("roles@platform.dev", undefined)],
  ["roles that are not JSON", changed("roles@platform.dev", "[")],
  ["roles that are not a list", changed("roles@platform.dev", '"access"')],
  ["a role that is not a name", changed("roles@platform.dev", '["a b"]')],
  ["a role that is a number", changed("roles@platform.dev", "[1]")],
  ["no traits", changed("traits@platform.dev", undefined)],
  ["traits that are not lists", changed("traits@platform.dev", '{"logins":"root"}')],
  ["traits that are far too long", changed("traits@platform.dev", `{"a":["${"x".repeat(70_000)}"]}`)],
  ["no cluster", changed("cluster@platform.dev", undefined)],
  ["an id that is empty", changed("user-id@platform.dev", "")],
  ["an id of the wrong form", changed("user-id@platform.dev", "0123456789ABCDEF".repeat(2))],
  ["an empty name", { ...good, keyId: "" }],
  ["a name with a new line", { ...good, keyId: "alice\nroot" }],
  ["a login that reads as an option", { ...good, principals: ["-oProxyCommand=x"] }],
  ["a login with a space", { ...good, principals: ["ro ot"] }],
  ["a user's fields as a host", { ...good, type: "host" as const }],
  ["a host without a role", { ...toSshCertificate(host), extensions: new Map([["cluster@platform.dev", "example.com"]]) }],
  ["a host whose id is not a UUID", { ...toSshCertificate(host), keyId: "web-1" }],
  ["a host's fields as a user", { ...toSshCertificate(host), type: "user" as const }],
] as const)("an SSH certificate with %s is not an identity", ([, fields]) => {
  expect(() => fromSshCertificate(fields)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

const subject = asSubject(user);
test.for<readonly [string, X509Subject]>([
  ["nothing", {}],
  ["an unknown kind", { ...subject, OU: "admin" }],
  ["two kinds", { ...subject, OU: ["user", "host"] }],
  ["two names", { ...subject, CN: ["alice", "bob"] }],
  ["two clusters", { ...subject, ST: ["a", "b"] }],
  ["no cluster", { ...subject, ST: undefined }],
  ["no traits", { ...subject, description: undefined }],
  ["two ids", { ...subject, serialNumber: ["0", "1"].map((digit) => digit.repeat(32)) }],
  ["an id of the wrong form", { ...subject, serialNumber: "1" }],
  ["two traits", { ...subject, description: [String(subject.description), "e30"] }],
  ["traits that are not base64url", { ...subject, description: "%%%" }],
  ["a user as host", { ...subject, OU: "host" }],
  ["an unknown host role", { ...asSubject(host), O: "king" }],
])("an X.509 subject with %s is not an identity", ([, fields]) => {
  expect(() => fromX509Subject(fields, validBefore)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

test("hostile fields only throw PlatformError", () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 50 });
  const names = fc.constantFrom("roles@platform.dev", "traits@platform.dev", "cluster@platform.dev", "host-role@platform.dev");
  const fields = fc.record({
    type: fc.constantFrom("user" as const, "host" as const),
    keyId: text,
    principals: fc.array(text, { maxLength: 3 }),
    extensions: fc.array(fc.tuple(names, fc.oneof(text, fc.json()))).map((entries) => new Map(entries)),
    validBefore: fc.constant(validBefore),
  });
  fc.assert(
    fc.property(fields, (hostile) => {
      try {
        fromSshCertificate(hostile);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
  );
});
