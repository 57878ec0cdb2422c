import type { ClientChannel } from "ssh2";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { holdSession } from "../world/held-session.ts";
import { hostileClient } from "../world/hostile-client.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { openPamWorld, type PamWorld } from "../world/pam-world.ts";
import { until } from "../world/until.ts";

/** However a session ends, PAM hears of it. */
describe.skipIf(machinesSkip !== undefined)("the end of a PAM session", { timeout: 120_000 }, () => {
  let world: PamWorld;
  beforeAll(async () => {
    world = await openPamWorld();
  }, 180_000);
  afterAll(async () => await world?.[Symbol.asyncDispose]());
  beforeEach(async () => await world.forget());

  /** A session of bob's that goes on, and the number of its program on the host. */
  async function running() {
    const session = holdSession(world.user, ["ssh", "-tt", "bob@web-1", "echo up-$$; exec sleep 600"]);
    const [, pid = ""] = /up-(\d+)/.exec(await session.until(/up-\d+/)) ?? [];
    await world.pam.counted(1, 0);
    return { session, pid };
  }

  test("a session is closed after kill -9 of its program", async () => {
    const { session, pid } = await running();
    await world.root.sh(`kill -9 ${pid}`);
    expect(await session.ended).toBe(137);
    await world.pam.counted(1, 1);
  });

  test("a session is closed after its client was cut off", async () => {
    const { session } = await running();
    await session[Symbol.asyncDispose]();
    await world.pam.counted(1, 1);
  });

  test("a session is closed after kill -9 of the agent, which then serves as before", async () => {
    const { session } = await running();
    await world.host.kill();
    await world.pam.counted(1, 1);
    await session.ended;
    await world.host.again();
    expect((await world.tsh("bob", "echo back")).stdout).toBe("back\n");
    await world.pam.counted(2, 2);
  });

  /** Modules take their time. */
  async function slowly(): Promise<AsyncDisposable> {
    await world.root.sh(": >/run/pam-slow");
    return { [Symbol.asyncDispose]: async () => void (await world.root.sh("rm /run/pam-slow")) };
  }

  const begun = () => until("a module has begun", async () => (await world.root.run(["pgrep", "-f", "pam-hook"])).status === 0);

  test("a signal that a client sends while modules open its session waits for the program", async () => {
    await using _slow = await slowly();
    using hostile = await hostileClient(world.cluster, world.user, "tunnel");
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      hostile.client.exec("sleep 600", (error, opened) => (error ? reject(error) : resolve(opened)));
    });
    const ended = new Promise<unknown>((resolve) => channel.once("exit", (_code: unknown, signal: unknown) => resolve(signal)));
    channel.resume();
    await begun();
    channel.signal("KILL");
    expect(await ended).toMatch(/KILL/);
    await world.pam.counted(1, 1);
  });

  test("a client that leaves while modules open its session leaves none open", async () => {
    await using _slow = await slowly();
    const session = holdSession(world.user, ["ssh", "bob@web-1", "sleep 600"]);
    await begun();
    await session[Symbol.asyncDispose]();
    await world.pam.counted(1, 1);
    expect((await world.root.run(["pgrep", "-f", "sleep 600"])).status).toBe(1);
  });

  test("the guardian survives the signals of a service stop, and is not a child that the program could wait for", async () => {
    const { session, pid } = await running();
    await world.root.sh("pkill -TERM -x platform-pam");
    expect(await world.root.sh(`pgrep -cx platform-pam; pgrep -P ${pid} || true`)).toBe("1\n");
    await world.root.sh(`kill ${pid}`);
    await session.ended;
    await world.pam.counted(1, 1);
  });
});
