import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { kubeVerbs } from "../../../core/resources/kube-rule.ts";
import { nameInBody, withBodyName } from "./name-in-body.ts";
import { readRequest } from "./read-request.ts";
import { reviewedAsk } from "./review.ts";
import { knownKinds } from "./testing/known-kinds.ts";

const kinds = knownKinds();
const json = "application/json";
const protobuf = "application/vnd.kubernetes.protobuf";

test.for<[what: string, body: string, name: object]>([
  ["a name", '{"kind":"Pod","metadata":{"name":"web-1"}}', { name: "web-1" }],
  ["the beginning of one", '{"metadata":{"generateName":"web-"}}', { generateName: "web-" }],
  ["both", '{"metadata":{"generateName":"web-","name":"x"}}', { name: "x", generateName: "web-" }],
  ["an escaped name", '{"metadata":{"name":"web\\u002d1"}}', { name: "web-1" }],
  ["no metadata", '{"spec":{"metadata":{"name":"x"}}}', {}],
  ["a number", '{"metadata":{"name":7}}', {}],
  // Two readers could read these differently: no name.
  ["metadata twice", '{"metadata":{"name":"king"},"metadata":{"generateName":"web-"}}', {}],
  ["a name twice", '{"metadata":{"name":"king","name":"web-1"}}', {}],
  ["metadata in other letters", '{"metadata":{"name":"web-1"},"Metadata":{"name":"king"}}', {}],
  ["a name in other letters", '{"metadata":{"name":"web-1","NAME":"king"}}', {}],
  ["an escaped member", '{"metadata":{"name":"web-1"},"met\\u0061data":{"name":"king"}}', {}],
])("JSON with %s", ([, body, name]) => {
  expect(nameInBody(Buffer.from(body), json)).toEqual(name);
});

test.for(["application/yaml", "application/cbor", "text/plain"])("a body in %s has no name here", (type) => {
  expect(nameInBody(Buffer.from("metadata: {name: web-1}"), type)).toEqual({});
});

test.for(["[]", "7", "", "{", '{"metadata":7}'])("JSON that is not an object is refused: %s", (body) => {
  expect(() => nameInBody(Buffer.from(body), json)).toThrow(PlatformError);
});

/** A field with a length. */
const field = (number: number, value: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2, Buffer.from(value).length]), Buffer.from(value)]);
const envelope = (...objects: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from("k8s\0"), field(1, field(1, "v1")), ...objects.map((object) => field(2, object)), field(4, "x")]);

describe("protobuf", () => {
  test.for<[what: string, body: Buffer, name: object]>([
    ["a name", envelope(field(1, field(1, "web-1"))), { name: "web-1" }],
    [
      "numbers beside it",
      envelope(
        Buffer.concat([
          Buffer.from([0x18, 0x96, 0x01]),
          field(1, Buffer.concat([field(1, "web-1"), Buffer.from([0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2d, 1, 2, 3, 4])])),
        ]),
      ),
      { name: "web-1" },
    ],
    ["the beginning of a name", envelope(field(1, field(2, "web-"))), { generateName: "web-" }],
    ["metadata twice", envelope(Buffer.concat([field(1, field(1, "web-1")), field(1, field(1, "king"))])), {}],
    ["an object twice", envelope(field(1, field(1, "web-1")), field(1, field(1, "king"))), {}],
    ["a name twice", envelope(field(1, Buffer.concat([field(1, "web-1"), field(1, "king")]))), {}],
    ["no envelope", Buffer.from("xyz"), {}],
  ])("with %s", ([, body, name]) => {
    expect(nameInBody(body, protobuf)).toEqual(name);
  });

  test("any bytes have a name, none, or are refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(json, protobuf), (bytes, type) => {
        try {
          nameInBody(Buffer.concat([type === protobuf ? Buffer.from("k8s\0") : Buffer.alloc(0), bytes]), type);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid" });
        }
      }),
    );
  });
});

test("the name of the body becomes that of the request", () => {
  const request = readRequest({ method: "POST", target: "/api/v1/namespaces/a/pods", isUpgrade: false }, kinds);
  if ("unknown" in request) throw new Error("unknown");
  expect(request.isNamedInBody).toBe(true);
  expect(withBodyName(request, { name: "x", generateName: "y" }).ask).toMatchObject({ name: "x" });
  expect(withBodyName(request, { generateName: "y" }).ask).toMatchObject({ prefix: "y" });
  expect(withBodyName(request, {}).ask).toEqual(request.ask);
  const named = readRequest({ method: "PUT", target: "/api/v1/namespaces/a/pods/x", isUpgrade: false }, kinds);
  if ("unknown" in named) throw new Error("unknown");
  expect(withBodyName(named, { name: "other" })).toBe(named);
});

test.for<[what: string, spec: object, ask: object | undefined]>([
  [
    "an object",
    { resourceAttributes: { verb: "get", resource: "pods", namespace: "a", name: "x" } },
    { group: "", resource: "pods", namespace: "a", name: "x", verbs: ["get"] },
  ],
  ["exec", { resourceAttributes: { verb: "create", resource: "pods", subresource: "exec", namespace: "a" } }, { verbs: ["exec"] }],
  ["a watch", { resourceAttributes: { verb: "watch", group: "apps", resource: "deployments" } }, { group: "apps", verbs: ["watch", "list"] }],
  ["a node's proxy", { resourceAttributes: { verb: "get", resource: "nodes", subresource: "proxy", name: "n" } }, { verbs: ["proxy"] }],
  [
    "all of a kind to delete",
    { resourceAttributes: { verb: "deletecollection", resource: "pods", namespace: "a" } },
    { verbs: ["deletecollection"] },
  ],
  ["a verb that no request has", { resourceAttributes: { verb: "impersonate", resource: "users" } }, undefined],
  ["an unknown kind", { resourceAttributes: { verb: "get", group: "example.com", resource: "things" } }, { unknown: { group: "example.com" } }],
  ["every verb", { resourceAttributes: { verb: "*", resource: "pods", namespace: "a" } }, { resource: "pods", namespace: "a", verbs: kubeVerbs }],
  ["everything in a namespace", { resourceAttributes: { verb: "*", resource: "*", namespace: "a" } }, { isNamespaced: true, verbs: kubeVerbs }],
  ["everything", { resourceAttributes: { verb: "*", group: "*", resource: "*" } }, { isNamespaced: false, verbs: kubeVerbs }],
  ["an open path", { nonResourceAttributes: { verb: "get", path: "/healthz" } }, { type: "open" }],
  ["another path", { nonResourceAttributes: { verb: "get", path: "/metrics" } }, { type: "path", path: "/metrics" }],
  ["nothing", {}, undefined],
])("a review of the own rights for %s", ([, spec, ask]) => {
  const found = reviewedAsk({ kind: "SelfSubjectAccessReview", spec }, kinds);
  if (ask === undefined) expect(found).toBeUndefined();
  else expect(found).toMatchObject(ask);
});
