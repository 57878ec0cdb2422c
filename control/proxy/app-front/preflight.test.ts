import { expect, test } from "vitest";
import { preflightHeaders } from "./preflight.ts";

const cors = {
  allowed_origins: ["https://one.test"],
  allowed_methods: ["GET", "PUT"],
  allowed_headers: ["x-a"],
  exposed_headers: ["x-b"],
  allow_credentials: true,
  max_age: 60,
};
const ask = { method: "OPTIONS", origin: "https://one.test", wanted: "PUT" };

test("a pre-flight of a listed origin gets the policy", () => {
  expect(preflightHeaders(cors, ask)).toEqual({
    "Access-Control-Allow-Origin": "https://one.test",
    Vary: "Origin",
    "Access-Control-Allow-Methods": "GET, PUT",
    "Access-Control-Allow-Headers": "x-a",
    "Access-Control-Expose-Headers": "x-b",
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Max-Age": "60",
  });
});

test("any origin gets it, with cookies only if the policy says so", () => {
  const [any, two] = [
    { ...cors, allowed_origins: ["*"] },
    { ...ask, origin: "https://two.test" },
  ];
  const answer = preflightHeaders({ ...any, allow_credentials: false }, two);
  expect(answer).toMatchObject({ "Access-Control-Allow-Origin": "*" });
  expect(answer).not.toHaveProperty("Access-Control-Allow-Credentials");
  expect(preflightHeaders(any, two)).toMatchObject({ "Access-Control-Allow-Origin": "https://two.test", "Access-Control-Allow-Credentials": "true" });
});

test.for([
  [undefined, ask],
  [cors, { ...ask, origin: "https://two.test" }],
  [cors, { ...ask, origin: "https://one.test.evil.test" }],
  [cors, { ...ask, origin: undefined }],
  [cors, { ...ask, wanted: undefined }],
  [cors, { ...ask, method: "GET" }],
] as const)("otherwise it is a request as every other: %#", ([policy, asked]) => {
  expect(preflightHeaders(policy, asked)).toBeUndefined();
});
