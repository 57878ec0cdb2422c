import fc from "fast-check";
import { expect, test } from "vitest";
import { parsedReview } from "./review-response.ts";

/** A field with a length: its number and wire type, the length, the bytes. All of them are short here. */
const field = (number: number, bytes: Buffer | string): Buffer => {
  const value = Buffer.from(bytes);
  return Buffer.concat([Buffer.from([number * 8 + 2, value.length]), value]);
};
const inEnvelope = (object: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from("k8s\0"),
    field(1, Buffer.concat([field(1, "authorization.k8s.io/v1"), field(2, "SelfSubjectAccessReview")])),
    field(2, object),
  ]);

test.each([
  [
    "an object",
    field(1, Buffer.concat([field(1, "shop"), field(2, "get"), field(5, "pods"), field(7, "db-1")])),
    { resourceAttributes: { namespace: "shop", verb: "get", group: "", version: "", resource: "pods", subresource: "", name: "db-1" } },
  ],
  ["a path", field(2, Buffer.concat([field(1, "/metrics"), field(2, "get")])), { nonResourceAttributes: { path: "/metrics", verb: "get" } }],
])("a review of %s in protobuf is read as the same in JSON", (_what, spec, expected) => {
  const review = parsedReview(inEnvelope(Buffer.concat([field(1, Buffer.alloc(0)), field(2, spec)])));
  expect(review).toMatchObject({ kind: "SelfSubjectAccessReview", spec: expected });
});

test.each([
  ["cut off", inEnvelope(field(2, field(1, field(2, "get")))).subarray(0, -3)],
  ["with two specs", inEnvelope(Buffer.concat([field(2, field(1, field(2, "get"))), field(2, field(1, field(2, "list")))]))],
  ["without a spec", inEnvelope(field(1, ""))],
  ["in YAML", Buffer.from("kind: SelfSubjectAccessReview")],
  ["that is an array", Buffer.from("[]")],
])("a review %s is not understood", (_what, body) => {
  expect(parsedReview(body)).toBeUndefined();
});

test("any bytes are a review or not, without an exception", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, isObject) => {
      const body = Buffer.from(bytes);
      parsedReview(isObject && body.length < 100 ? inEnvelope(body) : body);
    }),
  );
});
