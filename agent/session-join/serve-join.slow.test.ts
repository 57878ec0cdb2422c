import { randomUUID } from "node:crypto";
import type { ClientChannel } from "ssh2";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Role, type RoleOptions, roleSchema } from "../../core/resources/role.ts";
import { joinLogin, maxParticipants } from "../../core/resources/session.ts";
import type { SshConnection } from "../../core/ssh/ssh-client.ts";
import { openUserSession, ownLogin, type UserSession } from "../../test/inside/ssh-session.ts";
import { until } from "../../test/world/until.ts";
import { LiveSessions } from "../service/live-sessions.ts";
import type { ClientDeps } from "../ssh-server/client-deps.ts";
import { findTerminal } from "./shared-terminal.ts";

interface Shown {
  readonly channel: ClientChannel;
  out(): string;
  err(): string;
  exit(): { readonly code: number | null; readonly why: string | undefined } | undefined;
}

function shell(client: SshConnection, command?: string): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const opened = (error: Error | undefined, channel: ClientChannel): void => {
      if (error !== undefined) {
        reject(error);
        return;
      }
      const [out, err]: [Buffer[], Buffer[]] = [[], []];
      let exit: ReturnType<Shown["exit"]>;
      channel.on("data", (chunk: Buffer) => out.push(chunk)).on("error", () => {});
      channel.stderr.on("data", (chunk: Buffer) => err.push(chunk));
      channel.on("exit", (code: number | null, _signal?: string, _dumped?: boolean, why?: string) => {
        exit = { code, why };
      });
      resolve({ channel, out: () => Buffer.concat(out).toString(), err: () => Buffer.concat(err).toString(), exit: () => exit });
    };
    if (command === undefined) client.shell({}, opened);
    else client.exec(command, { pty: { rows: 24, cols: 80 } }, opened);
  });
}

const joiner = (modes: readonly string[], options: RoleOptions = {}): Role =>
  roleSchema.parse({
    kind: "role",
    version: "v7",
    metadata: { name: "access" },
    spec: { options, allow: { logins: [ownLogin], node_labels: { "*": "*" }, join_sessions: [{ name: "j", kinds: ["ssh"], roles: ["*"], modes }] } },
  });

/** A terminal of alice that runs `cat`. */
async function owner(live: LiveSessions): Promise<{ session: UserSession; shown: Shown; sid: string }> {
  const sid = randomUUID();
  const session = await openUserSession({ live, request: { sessionId: sid } });
  const shown = await shell(session.client, "echo begun; cat");
  await until("it has begun", () => shown.out().includes("begun"));
  return { session, shown, sid };
}

interface JoinAsk {
  readonly live: LiveSessions;
  readonly sid: string;
  readonly user?: string;
  readonly mode?: string;
  readonly login?: string;
  readonly roles?: readonly Role[];
  readonly lease?: ClientDeps["lease"];
}

function joined({ live, sid, user = "bob", mode = "observer", login = joinLogin, roles = [joiner(["*"])], ...more }: JoinAsk): Promise<UserSession> {
  const join = { target: sid, parameters: { mode }, sessionId: randomUUID() };
  return openUserSession({ live, user, login, logins: [ownLogin], roles, join, ...more });
}

describe("a connection to join a session", () => {
  test("gives only that: no program, no file, no port, no second session", async () => {
    const live = new LiveSessions();
    const { session, sid } = await owner(live);
    await using _owner = session;
    await using join = await joined({ live, sid, mode: "peer" });
    const { client } = join;
    await expect(shell(client, "id")).rejects.toThrow();
    const asks: ((done: (error?: Error) => void) => void)[] = [
      (done) => client.sftp((error) => done(error)),
      (done) => client.forwardOut("127.0.0.1", 1, "127.0.0.1", 22, (error) => done(error)),
      (done) => client.forwardIn("127.0.0.1", 0, (error) => done(error)),
      (done) => client.openssh_forwardOutStreamLocal("/run/x", (error) => done(error)),
    ];
    for (const ask of asks) expect(await new Promise((resolve) => ask(resolve))).toBeInstanceOf(Error);
    expect(join.events.filter(({ event }) => event !== "auth")).toEqual([]);
    await using another = await joined({ live, sid, mode: "peer" });
    await shell(another.client);
    await expect(shell(another.client)).rejects.toThrow();
  });

  test.for([
    ["under a login of the host", { login: ownLogin }, /to join a session, log in as/],
    ["without a role", { roles: [joiner(["*"])].map(({ spec: _spec, ...role }) => ({ ...role, spec: {} })) }, /no running session/],
    ["as a peer with a role for observers", { mode: "peer", roles: [joiner(["observer"])] }, /as peer: no role's/],
    ["of another id", { sid: randomUUID() }, /no running session/],
  ] as const)("%s is refused, and recorded", async ([, more, words]) => {
    const live = new LiveSessions();
    const { session, sid } = await owner(live);
    await using _owner = session;
    const thrown = await joined({ live, sid, ...more }).then(
      () => undefined,
      (error: Error & { events?: unknown[] }) => error,
    );
    expect(thrown?.message).toMatch(words);
    expect(thrown?.events).toMatchObject([{ event: "auth", user: "bob" }]);
  });

  test("counts as one of the connections that its user may have", async () => {
    const live = new LiveSessions();
    const { session, sid } = await owner(live);
    await using _owner = session;
    const roles = [joiner(["*"], { max_connections: 1 })];
    const asked: unknown[] = [];
    const released: string[] = [];
    const lease: ClientDeps["lease"] = async (ask) => {
      asked.push(ask);
      return { onLost: () => {}, release: async () => void released.push(ask.user) };
    };
    const join = await joined({ live, sid, roles, lease });
    expect(asked).toMatchObject([{ user: "bob", maximum: 1 }]);
    join.client.end();
    await join.served;
    await join[Symbol.asyncDispose]();
    expect(released).toEqual(["bob"]);
    const full: ClientDeps["lease"] = () => Promise.reject(new PlatformError("limit", "access denied: bob has 1 connection (max_connections)"));
    await expect(joined({ live, sid, roles, lease: full })).rejects.toMatchObject({
      code: "limit",
      events: [{ event: "session.rejected", user: "bob", sid, maximum: 1 }],
    });
  });

  test("in no mode that there is is refused before the login", async () => {
    await expect(joined({ live: new LiveSessions(), sid: randomUUID(), mode: "moderator" })).rejects.toMatchObject({ code: "invalid" });
  });

  test("counts towards the maximum of participants", async () => {
    const live = new LiveSessions();
    const { session, sid } = await owner(live);
    await using _owner = session;
    await using all = new AsyncDisposableStack();
    for (let count = 0; count < maxParticipants; count += 1) {
      const shown = await shell(all.use(await joined({ live, sid })).client);
      await until("it sees the session", () => shown.out().includes("begun"));
    }
    const late = await shell(all.use(await joined({ live, sid })).client);
    await until("it is refused", () => late.exit()?.code === 255);
    expect(late.err()).toContain(`this session already has ${maxParticipants} participants (the maximum)`);
  });

  test("ends by the rules of the user who joined only, with the reason ahead of unread output", async () => {
    const live = new LiveSessions();
    const { session, shown, sid } = await owner(live);
    await using _owner = session;
    await using join = await joined({ live, sid, roles: [joiner(["*"], { client_idle_timeout: "1s" })] });
    const seen = await shell(join.client);
    await until("it is cut off", () => seen.exit()?.why?.includes("there was no activity for 1s"));
    await join.served;
    expect(join.events.map(({ event }) => event)).toEqual(["session.join", "client.disconnect", "session.leave"]);
    await until("the owner is notified", () => shown.err().includes("user bob left"));
    shown.channel.write("goes on\n");
    await until("the owner's session goes on", () => /goes on\r\n[\s\S]*goes on\r\n/.test(shown.out()));
  });
});

test("input of a peer after it was disconnected is ignored", async () => {
  const live = new LiveSessions();
  const { session, shown, sid } = await owner(live);
  await using _owner = session;
  await using join = await joined({ live, sid, mode: "peer" });
  const peer = await shell(join.client);
  await until("it sees the session", () => peer.out().includes("begun"));
  findTerminal(live, sid)?.end();
  peer.channel.write("after the end\n");
  shown.channel.write("by the owner\n");
  await until("the owner's is heard", () => /by the owner\r\n[\s\S]*by the owner\r\n/.test(shown.out()));
  expect(shown.out()).not.toContain("after the end");
});

test.for([
  ["that lists other logins", [ownLogin], /does not list "-join-"/],
  ["that lists it, which no role can cause", [joinLogin], /access denied|no identity of this platform/],
] as const)("a session of one's own under the name for joining is refused with a certificate %s", async ([, logins, words]) => {
  await expect(openUserSession({ login: joinLogin, logins: [...logins] })).rejects.toThrow(words);
});
