import { expect, test } from "vitest";
import { profileOf } from "../profile/testing/profile-of.ts";
import { refusalHint } from "./open-stream.ts";

test.for([
  ["denied", "ssh", /^tsh status shows your roles and logins; role changes apply after the next tsh login$/],
  ["denied", "db", /^tsh db ls shows the accounts/],
  ["denied", "join", /^tsh status shows your roles;/],
  ["not_found", "ssh", /^tsh ls lists the hosts/],
  ["not_found", "db", /^tsh db ls lists the databases/],
  ["not_found", "app", /^tsh apps ls /],
  ["not_found", "kube", /^tsh kube ls /],
  ["unauthenticated", "db", /^log in again: tsh login --proxy=/],
] as const)("the hint about a stream that is refused (%s) is of its kind: %s", ([code, kind, hint]) => {
  expect(refusalHint(code, kind, profileOf({}).facts)).toMatch(hint);
});

test("other failures have their own words alone", () => {
  expect(refusalHint("unavailable", "db", profileOf({}).facts)).toBeUndefined();
});
