import { expect, test } from "vitest";
import { recordedRequest } from "./recorded-request.ts";

test.for([
  ["/a", { path: "/a", query: "" }],
  ["/a?q=1&b", { path: "/a", query: "q=1&b" }],
  ["/a?access_token=x&Password=y&X-Amz-Signature=z&id=7", { path: "/a", query: "access_token=***&Password=***&X-Amz-Signature=***&id=7" }],
  ["/a?%74oken=x", { path: "/a", query: "%74oken=***" }],
  ["/a?%zz=x&code=y?token=z", { path: "/a", query: "%zz=x&code=***" }],
  [`/${"x".repeat(5_000)}`, { path: `/${"x".repeat(1_999)}… (cut)`, query: "" }],
] as const)("%s is recorded without secrets", ([target, expected]) => {
  expect(recordedRequest({ method: "GET", target, status: 200 })).toEqual({ method: "GET", status: 200, ...expected });
});
