import { afterEach, beforeEach, expect, test } from "vitest";
import { browserAddress, by } from "../../../test/inside/auth-with-browser.ts";
import { type AuthWithPasskeys, authWithPasskeys, type SessionCall } from "../../../test/inside/auth-with-passkeys.ts";
import { softwareAuthenticator } from "../../../test/inside/software-authenticator.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

let world: AuthWithPasskeys;
let t: AuthWithPasskeys["t"];
let proxy: AuthWithPasskeys["proxy"];
let alice: AuthWithPasskeys["alice"];

beforeEach(async () => {
  world = await authWithPasskeys();
  ({ t, proxy, alice } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

const newPassword = "a wholly different one";

/** Makes the change; answers what then logs in. */
type Change = (mine: SessionCall, removePasskeys: boolean) => Promise<typeof alice>;

async function changePassword(mine: SessionCall, removePasskeys: boolean): Promise<typeof alice> {
  await proxy.changePassword({ password: alice.password, code: world.code(), newPassword, removePasskeys }, mine);
  return { ...alice, password: newPassword };
}

async function changeAuthenticator(mine: SessionCall, removePasskeys: boolean): Promise<typeof alice> {
  const { otpauthUri } = await proxy.startAuthenticator({ password: alice.password, code: world.code() }, mine);
  await proxy.confirmAuthenticator({ code: codeAt(otpauthUri, t.now()), removePasskeys }, mine);
  return { ...alice, otpauthUri };
}

const changes: readonly (readonly [string, Change])[] = [
  ["password", changePassword],
  ["authenticator", changeAuthenticator],
];

test.for(changes)("a new %s removes all passkeys where that is asked, with an event for each", async ([, change]) => {
  const { mine, authenticator } = await world.withPasskey();
  await world.add(mine, softwareAuthenticator(), { name: "key" });
  const after = await change(mine, true);
  await expect(world.logIn(authenticator)).rejects.toMatchObject({ code: "unauthenticated" });
  const again = by(await world.open(after));
  expect((await proxy.listPasskeys({}, again)).passkeys).toEqual([]);
  expect((await t.events("mfa.delete")).map((event) => [event.success, event.user, event.mfa_device, event["addr.remote"]])).toEqual([
    [true, "alice", "passkey phone", browserAddress],
    [true, "alice", "passkey key", browserAddress],
  ]);
  await world.add(again, softwareAuthenticator(), { user: after });
});

test.for(changes)("a new %s keeps passkeys otherwise", async ([, change]) => {
  const { mine, authenticator } = await world.withPasskey();
  await change(mine, false);
  await world.logIn(authenticator);
  expect(await t.events("mfa.delete")).toEqual([]);
});

test("a refused change removes nothing", async () => {
  const { mine, authenticator } = await world.withPasskey();
  const ask = { password: alice.password, code: "000000", newPassword, removePasskeys: true };
  await expect(proxy.changePassword(ask, mine)).rejects.toMatchObject({ code: "denied" });
  await world.logIn(authenticator);
  expect(await t.events("mfa.delete")).toEqual([]);
});
