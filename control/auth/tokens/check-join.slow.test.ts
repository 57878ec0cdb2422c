import { expect, test } from "vitest";
import { joinFacts, openTestAuth } from "../../../test/inside/open-auth.ts";

test("checks that come through are bounded too, and keep no host from joining", async () => {
  await using t = await openTestAuth({ anonymousLimit: { perMinute: 1, burst: 4 } });
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const check = () => t.connect().checkJoin({ token: secret, role: "node", hostname: "web1" });
  for (let count = 0; count < 4; count += 1) await check();
  await expect(check()).rejects.toMatchObject({ code: "limit" });
  await t.connect().join(joinFacts("node", secret));
  t.forward(60_000);
  await check();
});
