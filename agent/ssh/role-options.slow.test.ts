import { describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Lock } from "../../core/resources/lock.ts";
import type { RoleOptions } from "../../core/resources/role.ts";
import { runCommand } from "../../test/inside/run-command.ts";
import { accessRole, hostId, openUserSession, ownLogin, type SessionOptions, type UserSession } from "../../test/inside/ssh-session.ts";

const everywhere = { "*": "*" };
const withOptions = (options: RoleOptions) => ({ roles: [accessRole([ownLogin], everywhere, options)] });
const named = (session: UserSession, event: string) => session.events.filter((one) => one.event === event);

// Side by side: most of them wait.
describe.concurrent("the options of roles at the host", () => {
  test("ssh_file_copy: false refuses scp's far side and records why; a command still runs", async () => {
    await using session = await openUserSession(withOptions({ ssh_file_copy: false }));
    const refused = await runCommand(session.client, "scp -t /tmp");
    expect(refused.code).toBe(255);
    expect(refused.stderr).toBe("platform: access denied: a role forbids copying files (ssh_file_copy: false)\r\n");
    expect((await runCommand(session.client, "echo ran")).stdout.toString()).toBe("ran\n");
    expect(session.events.find(({ event }) => event === "session.end")).toMatchObject({ reason: expect.stringContaining("ssh_file_copy") });
  });

  test("ssh_file_copy is allowed when no role forbids it", async () => {
    await using session = await openUserSession();
    expect((await runCommand(session.client, "scp -t /nonexistent/folder/x")).stderr).not.toContain("access denied");
  });

  test("client_idle_timeout ends a terminal without input, whatever it prints, with the reason", async () => {
    await using session = await openUserSession(withOptions({ client_idle_timeout: "1s" }));
    const ran = await runCommand(session.client, "while :; do echo busy; sleep 0.1; done", { pty: true, feed: () => {} });
    expect(ran.stderr).toBe("\r\nplatform: this connection was ended: there was no activity for 1s\r\n");
    await session.served;
    expect(named(session, "client.disconnect")).toMatchObject([
      { user: "alice", login: ownLogin, reason: expect.stringContaining("no activity for 1s") },
    ]);
    expect(named(session, "session.end")).toMatchObject([{ reason: expect.stringContaining("no activity for 1s") }]);
  });

  test("client_idle_timeout does not end a terminal with input, or a session without a terminal that moves bytes", async () => {
    const options = withOptions({ client_idle_timeout: "3s" });
    await using moving = await openUserSession(options);
    await using typing = await openUserSession(options);
    const ran = await Promise.all([
      runCommand(moving.client, "for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.5; done; echo whole", { feed: () => {} }),
      runCommand(typing.client, "n=0; while [ $n -lt 8 ]; do read line && n=$((n+1)); done; echo whole", {
        pty: true,
        feed: (channel) => {
          const timer = setInterval(() => channel.write("x\n"), 500);
          channel.on("close", () => clearInterval(timer));
        },
      }),
    ]);
    for (const { stdout } of ran) expect(stdout.toString()).toContain("whole");
  });

  test("client_idle_timeout ends a connection without a session too", async () => {
    await using session = await openUserSession(withOptions({ client_idle_timeout: "1s" }));
    await session.served;
    expect(named(session, "client.disconnect")).toHaveLength(1);
  });

  test("disconnect_expired_cert ends the connection when the certificate does; without it the session lives on", async () => {
    const validBefore = (): Date => new Date(Math.ceil(Date.now() / 1000) * 1000 + 2000);
    const command = "sleep 4; echo lived on";
    const ends = validBefore();
    await using strict = await openUserSession({ ...withOptions({ disconnect_expired_cert: true }), validBefore: ends });
    const [cut, kept] = await Promise.all([
      runCommand(strict.client, command, { feed: () => {} }),
      openUserSession({ ...withOptions({ disconnect_expired_cert: false }), validBefore: validBefore() }).then(async (lenient) => {
        await using session = lenient;
        return await runCommand(session.client, command, { feed: () => {} });
      }),
    ]);
    expect(cut.stdout.toString()).toBe("");
    expect(cut.stderr).toContain(`the certificate of alice expired at ${ends.toISOString()} (log in again with: tsh login)`);
    expect(kept.stdout.toString()).toBe("lived on\n");
    await strict.served;
    expect(named(strict, "client.disconnect")).toHaveLength(1);
  });

  test("max_sessions refuses a further session on a connection, with the reason, until one has ended", async () => {
    await using session = await openUserSession(withOptions({ max_sessions: 2 }));
    const started = Promise.withResolvers<void>();
    let finish: () => void = () => {};
    const first = runCommand(session.client, "echo up; read line; echo done", {
      feed: (channel) => {
        channel.once("data", () => started.resolve());
        finish = () => channel.end("go\n");
      },
    });
    await started.promise;
    expect((await runCommand(session.client, "echo second")).stdout.toString()).toBe("second\n");
    const both = await Promise.allSettled([1, 2].map(() => runCommand(session.client, "sleep 0.5; echo fits")));
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = both.find((one) => one.status === "rejected");
    expect(String(refused?.reason)).toContain("too many sessions on this connection (max_sessions: 2)");
    finish();
    expect((await first).stdout.toString()).toBe("up\ndone\n");
    expect(named(session, "session.rejected")).toMatchObject([{ maximum: 2, user: "alice" }]);
  });

  test("require_session_mfa: the host itself refuses a certificate without the mark, of another host, after its minute and from elsewhere", async () => {
    const demanding = withOptions({ require_session_mfa: true });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const mfa = { device: "otp", kind: "ssh", name: hostId, until };
    await using session = await openUserSession({ ...demanding, mfa, sourceIp: "192.0.2.7" });
    expect((await runCommand(session.client, "echo in")).stdout.toString()).toBe("in\n");
    expect(named(session, "session.start")).toMatchObject([{ with_mfa: "otp" }]);
    const refused = async (options: SessionOptions, why: RegExp) => await expect(openUserSession({ ...demanding, ...options })).rejects.toThrow(why);
    await refused({}, /host box needs a one-time code for each session \(role access, require_session_mfa\)/);
    await refused({ mfa: { ...mfa, name: "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11" } }, /the one-time code of alice was for ssh "2b0f3a5e/);
    await refused({ mfa: { ...mfa, kind: "db" } }, /was for db/);
    await refused({ mfa, validBefore: new Date(Math.floor(Date.now() / 1000) * 1000 - 1_000) }, /expired/);
    await refused({ mfa, sourceIp: "192.0.2.7", request: { clientAddress: "192.0.2.8:40000" } }, /may not be used from 192.0.2.8/);
    // Where no code is needed, a certificate of another host is not good either.
    await expect(openUserSession({ mfa: { ...mfa, name: "other" } })).rejects.toThrow(/was for ssh "other"/);
  });

  test("require_session_mfa: a session outlives the minute of its certificate, and ends with the login where roles say so", async () => {
    const soon = new Date(Math.ceil(Date.now() / 1000) * 1000 + 5_000);
    const until = new Date(soon.getTime() + 2_000);
    const mfa = { device: "otp", kind: "ssh", name: hostId, until: until.toISOString() };
    const options = withOptions({ require_session_mfa: true, disconnect_expired_cert: true });
    await using session = await openUserSession({ ...options, mfa, validBefore: soon });
    const cut = await runCommand(session.client, "sleep 30; echo lived on", { feed: () => {} });
    expect(cut.stderr).toContain(`the certificate of alice expired at ${until.toISOString()}`);
  });

  test("pin_source_ip: the host itself compares the reported address, and refuses the user when there is none", async () => {
    const pinned = { ...withOptions({ pin_source_ip: true }), sourceIp: "192.0.2.7" };
    await using session = await openUserSession(pinned);
    expect((await runCommand(session.client, "echo in")).stdout.toString()).toBe("in\n");
    const from = (clientAddress: string) => openUserSession({ ...pinned, request: { clientAddress } });
    await expect(from("192.0.2.8:40000")).rejects.toThrow(/may not be used from 192.0.2.8/);
    await expect(from("")).rejects.toThrow(/the client's is not known here/);
    await expect(openUserSession(withOptions({ pin_source_ip: true }))).rejects.toThrow(/this one has none/);
  });

  test("max_connections: a lease is taken before the login and released at its end; a refusal is recorded with the limit", async () => {
    const asked: object[] = [];
    let released = 0;
    const lease: SessionOptions["lease"] = async (ask) => {
      asked.push(ask);
      const release = async (): Promise<void> => {
        released += 1;
      };
      return { onLost: () => {}, release };
    };
    const session = await openUserSession({ ...withOptions({ max_connections: 2 }), lease });
    expect(asked).toEqual([{ user: "alice", id: "s-1", maximum: 2 }]);
    expect(released).toBe(0);
    await session[Symbol.asyncDispose]();
    await session.served;
    expect(released).toBe(1);
    const full: SessionOptions["lease"] = () => Promise.reject(new PlatformError("limit", "alice has 2 connections"));
    const refused = openUserSession({ ...withOptions({ max_connections: 2 }), lease: full });
    await expect(refused).rejects.toMatchObject({ events: [{ event: "session.rejected", maximum: 2, reason: "alice has 2 connections" }] });
  });

  const lock: Lock = { kind: "lock", version: "v2", metadata: { name: "l-1" }, spec: { target: { user: "alice" }, message: "laptop stolen" } };

  test("a lock that comes while a session runs ends it with its reason", async () => {
    let tell: (access: { locks: readonly Lock[] }) => void = () => {};
    const follow: SessionOptions["follow"] = (listener) => {
      tell = listener as typeof tell;
    };
    await using session = await openUserSession({ follow });
    const ran = await runCommand(session.client, "trap '' HUP; echo up; read line", {
      feed: (channel) => {
        channel.once("data", () => {
          tell({ locks: [{ ...lock, spec: { target: { user: "bob" } } }] });
          channel.write("\n");
        });
      },
    });
    expect(ran).toMatchObject({ code: 0 });
    const cut = await runCommand(session.client, "echo up; sleep 60", { feed: (channel) => channel.once("data", () => tell({ locks: [lock] })) });
    expect(cut.stderr).toContain("platform: access denied: user alice is locked by lock l-1: laptop stolen");
    await session.served;
    expect(named(session, "client.disconnect")).toMatchObject([{ reason: expect.stringContaining("l-1") }]);
  });

  test.for<Lock["spec"]["target"]>([{ user: "alice" }, { role: "access" }, { login: ownLogin }, { server_id: hostId }])(
    "a lock of %j refuses a new login",
    async (target) => {
      await expect(openUserSession({ locks: [{ ...lock, spec: { target } }] })).rejects.toThrow(/is locked by lock l-1/);
    },
  );
});
