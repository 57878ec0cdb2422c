import { describe, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { withKeptPackage } from "./kept-packages.ts";

/** Actions in order. */
async function steps({ kept, fails }: { kept?: string; fails?: UpgradeReason }): Promise<string[]> {
  const done: string[] = [];
  const step = (name: string) => (): Promise<void> => {
    done.push(name);
    return Promise.resolve();
  };
  const installKept = (path: string): Promise<void> => {
    done.push(`kept ${path}`);
    return fails === undefined ? Promise.resolve() : Promise.reject(new UpgradeError(fails, "no"));
  };
  const ways = { kept: () => Promise.resolve(kept), fetch: step("fetch"), install: step("install"), installKept };
  await withKeptPackage(silentLog, ways).catch((thrown: unknown) => done.push(String(thrown)));
  return done;
}

describe("a package", () => {
  test("is fetched, then installed", async () => {
    expect(await steps({})).toEqual(["fetch", "install"]);
  });

  test("that was kept needs no network", async () => {
    expect(await steps({ kept: "/a.deb" })).toEqual(["kept /a.deb"]);
  });

  test("that was kept and is damaged is fetched again", async () => {
    expect(await steps({ kept: "/a.deb", fails: "package_manager_failed" })).toEqual(["kept /a.deb", "fetch", "install"]);
  });

  test.for<UpgradeReason>(["package_manager_busy", "no_space", "held_by_admin"])(
    "is not fetched when %s prevents the installation",
    async (fails) => {
      expect(await steps({ kept: "/a.deb", fails })).toEqual(["kept /a.deb", "UpgradeError: no"]);
    },
  );
});
