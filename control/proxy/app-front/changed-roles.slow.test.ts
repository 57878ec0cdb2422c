import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { BrowserWorld } from "./testing/browser-world.ts";

/* A browser that is at an application while its user's roles change. */

let site: BrowserWorld;
/** Calls of the auth service for the user of a session. */
let asked = 0;
/** The proxy's clock, ms: only a test advances it. */
let clock = 0;

beforeAll(async () => {
  const counted = (auth: AuthClient): AuthClient =>
    Object.assign(Object.create(auth) as AuthClient, {
      getAppSession: async (...args: Parameters<AuthClient["getAppSession"]>) => {
        asked += 1;
        return await auth.getAppSession(...args);
      },
    });
  site = await BrowserWorld.open({ authOfProxy: counted, clock: () => clock });
});
afterAll(async () => await site[Symbol.asyncDispose]());
beforeEach(() => site.reset());

/** Changes the role `dev`, and waits until the proxy knows. */
async function change(spec: object): Promise<void> {
  const { cluster, agent } = site.world;
  await cluster.putRole("dev", { allow: { app_labels: { env: "test" } }, ...spec });
  const { revision } = await cluster.admin.getAccess({ kinds: ["app"] });
  while ((await agent.next("access")).accessRevision !== revision);
}

const statuses = async (cookie: string, times = 1): Promise<ReadonlySet<number>> => {
  const answers = await Promise.all(Array.from({ length: times }, () => site.call("/", { headers: { cookie } })));
  return new Set(answers.map(({ status }) => status));
};
const addresses = (): readonly (string | undefined)[] => site.world.reached.map(({ user }) => user.sourceIp);

test("a role that binds certificates to an address counts at the next request, over a new connection, and refuses nobody wrongly", async () => {
  const cookie = await site.signIn();
  expect([await statuses(cookie), addresses()]).toEqual([new Set([200]), [undefined]]);
  await change({ options: { pin_source_ip: true } });
  asked = 0;
  expect([await statuses(cookie), addresses()]).toEqual([new Set([200]), [undefined, "127.0.0.1"]]);
  // The agent ends what it does not know to be at the right address.
  for (const { socket } of site.requests) socket.destroy();
  expect([await statuses(cookie, 8), new Set(addresses().slice(1))]).toEqual([new Set([200]), new Set(["127.0.0.1"])]);
  expect(asked).toBe(1);
  await change({});
});

test("a user whose roles are others gets no further request over a connection with those from before", async () => {
  const cookie = await site.signIn();
  await statuses(cookie);
  const setRoles = async (roles: readonly string[]): Promise<void> => {
    const user = { kind: "user", version: "v2", metadata: { name: "ann" }, spec: { roles } };
    await site.world.cluster.admin.putResource({ json: JSON.stringify(user), overwrite: true });
    clock += 2_000;
  };
  const rolesOf = (): readonly (readonly string[])[] => site.world.reached.map(({ user }) => user.roles);
  await setRoles(["dev", "none"]);
  await statuses(cookie);
  expect(rolesOf()).toEqual([["dev"], ["dev", "none"]]);
  await setRoles(["none"]);
  expect(await statuses(cookie)).toEqual(new Set([403]));
  expect(site.requests.length).toBe(2);
  await setRoles(["dev"]);
});
