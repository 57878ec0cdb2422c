import fc from "fast-check";
import { expect, test } from "vitest";
import { startupSettings } from "./startup-settings.ts";

const settings = (pairs: Readonly<Record<string, string | Buffer>>): readonly string[] =>
  startupSettings(Object.entries(pairs).map(([name, value]) => ({ name, value: Buffer.from(value) })));

test("the settings of a startup packet are those that no other field of the event has", () => {
  const packet = { user: "alice", search_path: "evil,public", database: "shop", application_name: "psql", replication: "off", role: "admin" };
  expect(settings(packet)).toEqual(["search_path=evil,public", "role=admin"]);
  expect(settings({ user: "alice" })).toEqual([]);
});

test.for([
  ["-c search_path=evil", ["search_path=evil"]],
  ["-csession_authorization=bob --role=admin", ["session_authorization=bob", "role=admin"]],
  ["  -c\tsearch_path=a,\\ b\\\\c\n-O", ["search_path=a, b\\c", "-O"]],
  ["-Oc role=admin", ["-Oc", "role=admin"]],
  ["-c statement_timeout", ["statement_timeout"]],
  ["-c app.query=a=b", ["app.query=a=b"]],
  ["--", ["--"]],
  ["\\", []],
  ["", []],
] as const)("of the options %j it has each", ([options, expected]) => {
  expect(settings({ options })).toEqual(expected);
});

test("what can be a secret is masked, and no setting of the server", () => {
  const secrets = {
    "app.password": "S3cret",
    "request.jwt.claims": "S3cret",
    "Vault.Token": "S3cret",
    "app.api_key": "S3cret",
    "keys.mine": "S3cret",
    password: "S3cret",
  };
  const options = "-c app.password=S3cret --my.secret_thing=S3cret -cvault.token=S3=cret\\ S3cret";
  const shown = settings({ ...secrets, options });
  expect(shown).toHaveLength(9);
  for (const setting of shown) expect(setting).toMatch(/^[\w.]+=\*\*\*$/i);
  expect(settings({ password_encryption: "md5", "app.user": "bob" })).toEqual(["password_encryption=md5", "app.user=bob"]);
});

test("bytes that are not text are shown, and long values cut", () => {
  expect(settings({ search_path: Buffer.of(0x61, 0xe4) })).toEqual(["search_path=a\\xe4"]);
  const [long = ""] = settings({ search_path: "x".repeat(9_000) });
  expect(long).toMatch(/^search_path=x+… \(cut\)$/);
  expect(long).toHaveLength(2_000);
});

test("more settings than an event has room for are refused, so that none hides behind the others", () => {
  const many = Object.fromEntries(Array.from({ length: 64 }, (_one, index) => [`a${index}`, "1"]));
  expect(settings(many)).toHaveLength(64);
  expect(() => settings({ ...many, role: "admin" })).toThrow(/65 settings in its startup packet; 64 are allowed/);
  expect(() => settings({ options: "-c a=1 ".repeat(65) })).toThrow(/65 settings/);
});

test("any parameters are bounded settings, or too many", () => {
  const values = fc.oneof(
    fc.string(),
    fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(fc.constant("options"), fc.string()), values), { maxLength: 80 }), (pairs) => {
      try {
        const all = startupSettings(pairs.map(([name, value]) => ({ name, value: Buffer.from(value) })));
        expect(all.length).toBeLessThanOrEqual(64);
        for (const one of all) expect(one.length).toBeLessThanOrEqual(2_000);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
