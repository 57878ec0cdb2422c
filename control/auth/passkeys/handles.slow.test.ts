import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { by } from "../../../test/inside/auth-with-browser.ts";
import { type AuthWithPasskeys, authWithPasskeys, challengeOf, origin, rpId, site } from "../../../test/inside/auth-with-passkeys.ts";
import { softwareAuthenticator } from "../../../test/inside/software-authenticator.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { firstPasskeyWrites, newHandle, userOfHandle } from "./stored-passkeys.ts";

let world: AuthWithPasskeys;
let t: AuthWithPasskeys["t"];
let proxy: AuthWithPasskeys["proxy"];
let alice: AuthWithPasskeys["alice"];

beforeEach(async () => {
  world = await authWithPasskeys();
  ({ t, proxy, alice } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

test("of two starts before the first passkey one counts: the other one starts again, and both passkeys log in", async () => {
  const mine = by(await world.open());
  const [first, second] = [softwareAuthenticator(), softwareAuthenticator()];
  const start = async (name: string) => ({
    name,
    ...(await proxy.startPasskey({ site, name, password: alice.password, code: world.code() }, mine)),
  });
  const finish = async ({ name, ...started }: Awaited<ReturnType<typeof start>>, authenticator: typeof first) => {
    const { userHandle } = started;
    const made = authenticator.make({ challenge: challengeOf(started), origin, rpId, userHandle });
    await proxy.addPasskey({ site, name, userHandle, ...made }, mine);
  };
  const [one, two] = [await start("one"), await start("two")];
  await finish(one, first);
  await expect(finish(two, second)).rejects.toMatchObject({ code: "denied", hint: expect.stringContaining("start again") });
  await finish(await start("two"), second);
  for (const authenticator of [first, second]) await world.logIn(authenticator);
  await t.admin.createInvite({ user: "alice" });
  expect(handles()).toEqual([]);
});

test("the first passkey of a user removes the handle of an earlier user of the same name, which a version before has left", async () => {
  const folder = mkdtempSync(join(tmpdir(), "platform-passkeys-"));
  const storage = openSqlite({ path: join(folder, "state.sqlite") });
  try {
    const [earlier, own] = [newHandle(), newHandle()];
    await storage.batch(await firstPasskeyWrites(storage, "alice", { user_id: "earlier", handle: earlier, passkeys: [] }));
    expect(await userOfHandle(storage, earlier)).toBe("alice");
    await storage.batch(await firstPasskeyWrites(storage, "alice", { user_id: "own", handle: own, passkeys: [] }));
    expect([await userOfHandle(storage, earlier), await userOfHandle(storage, own)]).toEqual([undefined, "alice"]);
  } finally {
    await storage.close();
    rmSync(folder, { recursive: true });
  }
});

/** Stored handles of users. */
function handles(): readonly string[] {
  using database = new DatabaseSync(`${t.dataDir}/auth/state.sqlite`, { readOnly: true });
  return database
    .prepare("SELECT key FROM entries WHERE key LIKE '/passkey_handle/%'")
    .all()
    .map(({ key }) => String(key));
}
