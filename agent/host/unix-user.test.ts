import { expect, test } from "vitest";
import { closedReason, requireOpenAccount } from "./unix-user.ts";

/** Day 20,000 after 1970, a little after it began. */
const now = new Date(20_000 * 86_400_000 + 5_000);

test.for([
  ["keeper:$6$abc:19000:0:99999:7:::", undefined],
  ["keeper:*:19000:0:99999:7:::", undefined],
  ["keeper::19000:0:99999:7:::", undefined],
  ["keeper:!:19000:0:99999:7:::", undefined],
  ["keeper:!!:19000:0:99999:7:::", undefined],
  ["keeper:!$6$abc:19000:0:99999:7:::", "locked"],
  ["keeper:!!$6$abc:19000:0:99999:7:::", "locked"],
  ["keeper:!*:19000:0:99999:7:::", "locked"],
  ["keeper:*LK*:19000:0:99999:7:::", undefined],
  ["keeper:$6$abc:19000:0:99999:7::19999:", "expired"],
  ["keeper:$6$abc:19000:0:99999:7::20000:", undefined],
  ["keeper:$6$abc:19000:0:99999:7::20001:", undefined],
  ["keeper:$6$abc:19000:0:99999:7::-1:", undefined],
  ["keeper:!:19000:0:99999:7::1:", "expired"],
  ["keeper:!$6$abc:19000:0:99999:7::0:", "expired"],
  // An expired password does not matter to logins without one.
  ["keeper:$6$abc:1:0:1:7:1::", undefined],
  ["keeper", undefined],
] as const)("%s: %s", ([line, reason]) => {
  expect(closedReason(line, now)).toBe(reason);
});

test.skipIf(process.geteuid?.() !== 0)("an account that is open or unknown is not refused", async () => {
  await requireOpenAccount("root");
  await requireOpenAccount("no-such-user");
  await requireOpenAccount("--help");
});
