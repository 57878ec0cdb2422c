import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createLog } from "../../../core/log/log.ts";
import type { DatabaseEvent } from "../engine.ts";
import { type AccountAsk, type AccountFacts, AccountHold } from "./account-hold.ts";
import type { AccountServer, Deactivation } from "./account-server.ts";

const short = { beforeMs: [1, 1], afterMs: [1, 1], laterMs: [1, 1] };

interface Script {
  readonly activate?: (roles: readonly string[]) => "ready" | "busy" | PlatformError;
  readonly deactivate?: () => Deactivation | PlatformError;
  readonly times?: Required<NonNullable<AccountFacts["times"]>>;
}

/** A server of one account that notes what it was asked. */
function world({ activate = () => "ready", deactivate = () => "disabled", times = short }: Script = {}) {
  const calls: string[] = [];
  const events: DatabaseEvent[] = [];
  const servers: { isOpen: boolean }[] = [];
  let idles = 0;
  const said = <T>(answer: T | PlatformError): T => {
    if (answer instanceof PlatformError) throw answer;
    return answer;
  };
  const open = async (): Promise<AccountServer> => {
    calls.push("open");
    const server = {
      isOpen: true,
      activate: async ({ roles }: { readonly roles: readonly string[] }) => {
        calls.push(`activate ${roles.join()}`);
        return said(activate(roles));
      },
      deactivate: async (_name: string, mode: string) => {
        calls.push(`deactivate ${mode}`);
        return said(deactivate());
      },
      sweep: async () => {
        calls.push("sweep");
        return [];
      },
      close: () => {
        calls.push("close");
        server.isOpen = false;
      },
    };
    servers.push(server);
    return server;
  };
  const lines: string[] = [];
  const log = createLog({ level: "error", format: "json", write: (line) => void lines.push(line) });
  const onIdle = (): void => {
    idles += 1;
  };
  const stop = new AbortController();
  const hold = new AccountHold({ name: "alice", database: "orders", log, times, onIdle, signal: stop.signal });
  const ask = (roles: readonly string[] = ["readers"], mode: AccountAsk["rule"]["mode"] = "keep"): AccountAsk => ({
    rule: { mode, roles },
    open,
    record: async (event) => void events.push(event),
  });
  return { hold, ask, calls, events, servers, lines, stop, idles: () => idles };
}

describe("an account of one user at one agent", () => {
  test("the first session makes it, the last one disables it; those between touch nothing", async () => {
    const { hold, ask, calls, events, idles } = world();
    const [first, second] = await Promise.all([hold.enter(ask()), hold.enter(ask())]);
    await first?.release();
    await first?.release();
    expect(calls).toEqual(["open", "activate readers", "sweep"]);
    expect(idles()).toBe(0);
    await second?.release();
    expect(calls).toEqual(["open", "activate readers", "sweep", "deactivate keep", "close"]);
    expect(events).toEqual([
      { event: "db.session.user.create", username: "alice", roles: ["readers"], success: true },
      { event: "db.session.user.create", username: "alice", roles: ["readers"], success: true },
      { event: "db.session.user.deactivate", username: "alice", success: true, delete: false },
    ]);
    expect(idles()).toBe(1);
  });

  test("a session with other roles waits for the one before to end, and is refused when it does not", async () => {
    const answers: ("busy" | "ready")[] = ["busy", "ready"];
    const waits = world({ activate: () => answers.shift() ?? "ready" });
    await (await waits.hold.enter(waits.ask())).release();
    expect(waits.calls.filter((call) => call.startsWith("activate"))).toHaveLength(2);
    const refused = world({ activate: (roles) => (roles.includes("owners") ? "busy" : "ready") });
    await expect(refused.hold.enter(refused.ask(["owners"]))).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining("other roles"),
    });
    expect(refused.calls.at(-1)).toBe("close");
    const own = world();
    const held = await own.hold.enter(own.ask());
    await expect(own.hold.enter(own.ask(["owners"]))).rejects.toMatchObject({ code: "denied" });
    await held.release();
    expect(own.calls).toEqual(["open", "activate readers", "sweep", "deactivate keep", "close"]);
  });

  test("the server's refusal is for the log and the audit; the user learns where to look; a denial is the user's to read", async () => {
    const failing = world({ activate: () => new PlatformError("unavailable", "the server refused the creation: permission denied") });
    await expect(failing.hold.enter(failing.ask())).rejects.toMatchObject({
      code: "unavailable",
      message: "could not make the account alice at database orders",
    });
    expect(failing.lines.join()).toContain("permission denied");
    expect(failing.events).toMatchObject([{ event: "db.session.user.create", success: false, error: expect.stringContaining("permission denied") }]);
    const foreign = world({ activate: () => new PlatformError("denied", "the account is not ours") });
    await expect(foreign.hold.enter(foreign.ask())).rejects.toMatchObject({ code: "denied", message: "the account is not ours" });
    expect(foreign.lines).toEqual([]);
  });

  test("a connection that the server has not ended yet is waited for, in the end without holding up the session", async () => {
    const soon: Deactivation[] = ["busy", "deleted"];
    const quick = world({ deactivate: () => soon.shift() ?? "done" });
    await (await quick.hold.enter(quick.ask([], "best_effort_drop"))).release();
    expect(quick.events.at(-1)).toEqual({ event: "db.session.user.deactivate", username: "alice", success: true, delete: true });
    const late: Deactivation[] = ["busy", "busy", "busy", "disabled"];
    const long = world({ deactivate: () => late.shift() ?? "done" });
    await (await long.hold.enter(long.ask())).release();
    expect(long.idles()).toBe(0);
    await expect.poll(long.idles).toBe(1);
    expect(long.events.at(-1)).toMatchObject({ event: "db.session.user.deactivate", success: true });
    const never = world({ deactivate: () => "busy" });
    await (await never.hold.enter(never.ask())).release();
    await expect.poll(never.idles).toBe(1);
    expect(never.calls.at(-1)).toBe("close");
  });

  test("an agent that stops does not wait for a server that still has a connection", async () => {
    const before = world({ deactivate: () => "busy" });
    const held = await before.hold.enter(before.ask());
    before.stop.abort();
    await held.release();
    expect(before.idles()).toBe(1);
    const during = world({ deactivate: () => "busy", times: { ...short, laterMs: [60_000] } });
    await (await during.hold.enter(during.ask())).release();
    expect(during.idles()).toBe(0);
    during.stop.abort();
    await expect.poll(during.idles).toBe(1);
  });

  test("a session that comes while the last one ends keeps the account", async () => {
    const { hold, ask, calls } = world();
    const first = await hold.enter(ask());
    const [, second] = await Promise.all([first.release(), hold.enter(ask())]);
    expect(calls.filter((call) => call === "close")).toEqual([]);
    await second.release();
    expect(calls.at(-1)).toBe("close");
  });

  test("another agent goes on using it: nothing is recorded", async () => {
    const { hold, ask, events, idles } = world({ deactivate: () => "used" });
    await (await hold.enter(ask())).release();
    expect(events).toHaveLength(1);
    expect(idles()).toBe(1);
  });

  test("a broken connection is replaced by the next session; without one the end is a failure in log and audit", async () => {
    const broken = world();
    const first = await broken.hold.enter(broken.ask());
    for (const server of broken.servers) server.isOpen = false;
    const second = await broken.hold.enter(broken.ask());
    expect(broken.calls.filter((call) => call === "open")).toHaveLength(2);
    await first.release();
    await second.release();
    const lost = world({ deactivate: () => new PlatformError("unavailable", "the connection ended") });
    await (await lost.hold.enter(lost.ask())).release();
    expect(lost.events.at(-1)).toMatchObject({ event: "db.session.user.deactivate", success: false, error: expect.stringContaining("ended") });
    expect(lost.lines.join()).toContain("could not disable an account");
    expect(lost.idles()).toBe(1);
  });

  test("the bounds of an event hold for many and long roles", async () => {
    const { hold, ask, events } = world();
    await (await hold.enter(ask(Array.from({ length: 100 }, () => "r".repeat(500))))).release();
    expect(events[0]).toMatchObject({ roles: Array.from({ length: 64 }, () => "r".repeat(256)) });
  });
});
