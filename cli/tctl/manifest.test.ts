import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { readManifest } from "./manifest.ts";

const role = `kind: role
version: v7
metadata:
  name: ops
spec:
  allow:
    logins: [root]
    node_labels: {env: prod}
`;
const user = "kind: user\nversion: v2\nmetadata: {name: bob}\nspec: {roles: [ops]}\nstatus: {state: active}\n";

test("several documents are read, each with its place; read-only parts are let go of", () => {
  const read = readManifest(`${role}---\n${user}`, "f.yaml");
  expect(read.map(({ kind, name, place }) => [kind, name, place])).toEqual([
    ["role", "ops", "f.yaml, line 1"],
    ["user", "bob", "f.yaml, line 10"],
  ]);
  expect(read[1]?.document).toEqual({ kind: "user", version: "v2", metadata: { name: "bob" }, spec: { roles: ["ops"] } });
});

test("JSON is YAML too", () => {
  expect(readManifest(JSON.stringify({ kind: "user", version: "v2", metadata: { name: "b" }, spec: { roles: ["r"] } }), "f")[0]?.name).toBe("b");
});

test("all problems of all documents are reported at once, with their lines", () => {
  const bad = `kind: role
version: v6
metadata:
  name: a b
spec:
  allow:
    login: [root]
---
kind: widget
---
kind: user
version: v2
metadata: {name: bob}
spec:
  roles: []
`;
  let message = "";
  try {
    readManifest(bad, "f.yaml");
  } catch (thrown) {
    message = (thrown as PlatformError).message;
  }
  expect(message).toMatch(/^f\.yaml has 5 problems; nothing was sent:\n/);
  expect(message).toContain("line 2: version: ");
  expect(message).toContain("line 4: metadata.name: a name has");
  expect(message).toContain("line 7: spec.allow.login: ");
  expect(message).toContain('line 9: there is no resource kind "widget"; kinds: role');
  expect(message).toContain("line 15: spec.roles: ");
});

test.for([
  ["", /contains no resource/],
  ["# only a comment\n", /contains no resource/],
  ["kind: role\nkind: role\n", /line 2: Map keys must be unique/],
  ["a: [1, 2\n", /line \d: /],
  ["just text", /no kind/],
  ["- kind: role", /no kind/],
] as const)("%j is refused", ([text, says]) => {
  expect(() => readManifest(text, "f.yaml")).toThrow(says);
});

test("hostile text only ever throws PlatformError", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => `kind: role\n${text}`),
        fc.json(),
      ),
      (text) => {
        try {
          readManifest(text, "f");
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      },
    ),
  );
});

test("kinds of connectors are named as what they are", () => {
  for (const kind of ["github", "saml", "oidc"]) {
    const read = (): unknown => readManifest(`kind: ${kind}\nversion: v3\nmetadata: {name: sso}\n`, "f.yaml");
    expect(read).toThrow(`line 1: ${kind} connectors are not supported by this version; kinds: role`);
  }
  expect(() => readManifest("version: v3\n", "f.yaml")).toThrow("line 1: the document has no kind; kinds: role");
});

test("problems are in the words of YAML, by line, and a mistyped field names the one that was meant", () => {
  const problems = (text: string): readonly string[] => {
    try {
      readManifest(text, "f.yaml");
      return [];
    } catch (thrown) {
      return (thrown as PlatformError).message.split("\n  ").slice(1);
    }
  };
  const bad = `kind: role
metadata: {name: 7}
spec:
  options: {port_fowarding: no}
  alow: {}
  allow:
    logins: root
    db_labels: prod
    kubernetes_resources: [{kind: pod, namespace: shop, verbs: [get]}]
  deny: {zzz: 1}
`;
  expect(problems(bad)).toEqual([
    "line 1: version: is missing; write version: v7",
    "line 2: metadata.name: must be text, not a number; put it in quotes",
    "line 4: spec.options.port_fowarding: is not a known field; did you mean port_forwarding?",
    "line 5: spec.alow: is not a known field; did you mean allow?",
    "line 7: spec.allow.logins: must be a list, not text; write it in brackets: [ ]",
    "line 8: spec.allow.db_labels: must be a section of keys, not text",
    "line 9: spec.allow.kubernetes_resources.0.name: is missing; add it",
    expect.stringMatching(/^line 10: spec\.deny\.zzz: is not a known field; the fields here are logins, /),
  ]);
  expect(problems(role.replace("spec:", "spec:\n  options: {forward_agent: yes}"))).toEqual([
    "line 6: spec.options.forward_agent: must be true or false",
  ]);
  expect(problems(role.replace("v7", "v3"))).toEqual(["line 2: version: must be v7"]);
});
