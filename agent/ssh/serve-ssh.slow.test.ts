import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { runCommand } from "../../test/inside/run-command.ts";
import { accessRole, openUserSession, ownLogin, type SessionOptions } from "../../test/inside/ssh-session.ts";

test("start, command and end of a session are recorded", async () => {
  await using session = await openUserSession();
  await runCommand(session.client, "exit 4");
  await expect
    .poll(() => session.events)
    .toMatchObject([
      { event: "session.start", user: "alice", login: ownLogin, sid: "s-1", interactive: false, "addr.remote": "192.0.2.7:40000" },
      { event: "exec", command: "exit 4" },
      { event: "session.data", bytes_transmitted: 0, bytes_received: 0 },
      { event: "session.end", exit_code: 4 },
    ]);
});

test("the bytes of each session are counted apart, standard error with them", async () => {
  await using session = await openUserSession();
  await Promise.all([
    runCommand(session.client, "head -c 300000 /dev/zero; echo seen >&2"),
    runCommand(session.client, "wc -c", { feed: (channel) => channel.end(Buffer.alloc(70_000)) }),
  ]);
  const counts = () => session.events.flatMap((one) => (one.event === "session.data" ? [[one.bytes_transmitted, one.bytes_received]] : []));
  await expect
    .poll(() => counts().toSorted(([a = 0], [b = 0]) => a - b))
    .toEqual([
      [6, 70_000],
      [300_005, 0],
    ]);
});

test("a command that could not run is recorded with the reason", async () => {
  await using session = await openUserSession();
  expect(await runCommand(session.client, "echo a\0b")).toMatchObject({ code: 255 });
  await expect
    .poll(() => session.events.filter(({ event }) => event === "exec"))
    .toMatchObject([{}, { error: expect.stringContaining("could not start") }]);
});

test("a terminal's new sizes are recorded: the first one, but not each of a quick series", async () => {
  await using session = await openUserSession();
  await runCommand(session.client, "stty -echo; echo ready; read line", {
    pty: true,
    feed: (channel) => {
      channel.once("data", () => {
        for (let columns = 100; columns < 150; columns += 1) channel.setWindow(40, columns, 0, 0);
        channel.write("x\n");
      });
    },
  });
  await expect.poll(() => session.events.some(({ event }) => event === "session.end")).toBe(true);
  expect(session.events.filter(({ event }) => event === "resize")).toMatchObject([{ size: "100:40", user: "alice", sid: "s-1" }]);
});

test("when the agent stops, its connections end with all that runs in them, including those whose login is under way", async () => {
  const abort = new AbortController();
  await using session = await openUserSession({ abort });
  // It would run for long: only the end of the connection ends it.
  const ran = runCommand(session.client, "echo up; exec cat", { feed: (channel) => channel.once("data", () => abort.abort()) });
  await expect(ran).resolves.toMatchObject({ code: null });
  await session.served;
  const late = new AbortController();
  const lease: SessionOptions["lease"] = async () => {
    late.abort();
    return { onLost: () => {}, release: async () => {} };
  };
  const roles = [accessRole([ownLogin], { "*": "*" }, { max_connections: 2 })];
  await expect(openUserSession({ abort: late, lease, roles })).rejects.toThrow();
});

test("a copy whose end cannot be recorded still ends with its own status", async () => {
  const record = async ({ event }: { readonly event: string }) =>
    event === "scp" ? Promise.reject(new PlatformError("limit", "no room for events")) : undefined;
  await using session = await openUserSession({ record });
  const { code, stderr } = await runCommand(session.client, "scp -f /nonexistent/file", { feed: (channel) => channel.end(Buffer.alloc(1)) });
  expect(code).toBe(1);
  expect(stderr).not.toContain("no room");
});

test("a command that cannot be recorded does not run", async () => {
  const record = async () => Promise.reject(new PlatformError("limit", "no room for events"));
  await using session = await openUserSession({ record });
  expect(await runCommand(session.client, "echo ran")).toMatchObject({
    code: 255,
    stdout: Buffer.alloc(0),
    stderr: "platform: no room for events\r\n",
  });
});

test("other subsystems are refused, and the connection continues", async () => {
  await using session = await openUserSession();
  const { client } = session;
  const refused = await new Promise((resolve) => client.subsys("netconf", (error) => resolve(error !== undefined)));
  expect(refused).toBe(true);
  expect((await runCommand(client, "echo still here")).stdout.toString()).toBe("still here\n");
});

test.for([
  ["a login that the certificate does not list", { logins: ["somebody"], login: ownLogin }, /does not list/],
  ["an expired certificate", { validBefore: new Date(Date.now() - 1000) }, /expired/],
  ["a certificate of a foreign authority", { authorities: await insideAuthorities("example") }, /unknown authority/],
  ["a login that no role lists", { roles: [accessRole(["somebody"])] }, /no role lists this login/],
  ["a host whose labels no role allows", { roles: [accessRole([ownLogin], { env: "prod" })] }, /role access does not allow its labels/],
  ["a login other than the one that control allowed", { request: { parameters: { login: "somebody" } } }, /opened for login "somebody"/],
  ["a user who does not exist", { login: "no-such-user-here" }, /there is no Unix user "no-such-user-here"/],
] as const)("%s is refused and recorded", async ([, options, reason]) => {
  const refused = await openUserSession(options).then(
    () => undefined,
    (error: Error & { events: unknown }) => error,
  );
  expect(refused?.message).toMatch(reason);
  expect(refused?.events).toMatchObject([{ event: "auth", user: "alice", server_name: "box" }]);
});

test("roles that cannot be fetched deny before anything is answered", async () => {
  const fetchAccess = () => Promise.reject(new PlatformError("unavailable", "no roles now"));
  await expect(openUserSession({ fetchAccess })).rejects.toThrow("no roles now");
});
