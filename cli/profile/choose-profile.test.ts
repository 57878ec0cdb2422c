import { expect, test } from "vitest";
import { memoryIo } from "../memory-io.ts";
import { type NamedProxy, proxyOption } from "./choose-profile.ts";

test.for<readonly [string, NamedProxy]>([
  ["p.test", { host: "p.test", port: 3080, otherPort: 443 }],
  ["p.test:444", { host: "p.test", port: 444 }],
  ["fd00::0", { host: "fd00::0", port: 3080, otherPort: 443 }],
  ["[fd00::1]", { host: "fd00::1", port: 3080, otherPort: 443 }],
  ["https://p.test", { host: "p.test", port: 443 }],
  ["https://p.test:8443/", { host: "p.test", port: 8443 }],
])("--proxy=%s", ([given, expected]) => {
  const text = (name: string): string | undefined => (name === "proxy" ? given : undefined);
  const options = { text, list: () => [], values: () => [], flag: () => false, count: () => 0 };
  expect(proxyOption({ io: memoryIo(), options })).toEqual(expected);
});
