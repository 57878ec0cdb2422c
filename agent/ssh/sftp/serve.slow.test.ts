import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientChannel, SFTPWrapper } from "ssh2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessRole, openUserSession, ownLogin, type UserSession } from "../../../test/inside/ssh-session.ts";
import { until } from "../../../test/world/until.ts";

// Side by side: one of them waits for a limit.
describe.concurrent("the SFTP subsystem", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-sftp-serve-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const sftp = ({ client }: UserSession) =>
    new Promise<SFTPWrapper>((resolve, reject) => client.sftp((error, opened) => (error ? reject(error) : resolve(opened))));
  const subsystem = ({ client }: UserSession) =>
    new Promise<ClientChannel>((resolve, reject) => client.subsys("sftp", (error, opened) => (error ? reject(error) : resolve(opened))));
  const ended = (channel: ClientChannel) =>
    new Promise<{ status: number | null; stderr: string }>((resolve) => {
      let stderr = "";
      let status: number | null = null;
      channel.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      channel.on("exit", (code: number | null) => {
        status = code;
      });
      channel.on("close", () => resolve({ status, stderr }));
      channel.resume();
    });

  test("serves files in a process of its own, and records what it did", async () => {
    const session = await openUserSession();
    const files = await sftp(session);
    const done = await new Promise((resolve) => files.writeFile(join(dir, "one"), "hello", resolve));
    expect(done ?? undefined).toBeUndefined();
    const missing = await new Promise<Error & { code?: number }>((resolve) => files.stat(join(dir, "missing"), (error) => resolve(error as Error)));
    expect(missing.code).toBe(2);
    files.end();
    await session[Symbol.asyncDispose]();
    await session.served;
    expect(readFileSync(join(dir, "one"), "utf8")).toBe("hello");
    expect(session.events).toMatchObject([
      { event: "session.start", interactive: false },
      { event: "subsystem", name: "sftp", login: ownLogin },
      { event: "sftp", action: "open", path: join(dir, "one") },
      { event: "sftp_summary", files_written: 1, bytes_written: 5 },
      { event: "session.data" },
      { event: "session.end" },
    ]);
  });

  test("is refused with the reason when a role forbids copying, and the refusal is recorded", async () => {
    await using session = await openUserSession({ roles: [accessRole([ownLogin], { "*": "*" }, { ssh_file_copy: false })] });
    const outcome = await ended(await subsystem(session));
    expect(outcome).toEqual({ status: 255, stderr: "platform: access denied: a role forbids copying files (ssh_file_copy: false)\r\n" });
    expect(session.events).toMatchObject([
      { event: "session.start" },
      { event: "subsystem", error: expect.stringContaining("ssh_file_copy") },
      { event: "session.data" },
      { event: "session.end" },
    ]);
  });

  test.for([
    ["a stream that is not SFTP", Buffer.from("GET / HTTP/1.1\r\n\r\n"), /SFTP packet of/],
    ["a request before the version", Buffer.from([0, 0, 0, 6, 17, 0, 0, 0, 1, 0]), /before the version/],
    ["a message whose field ends early", Buffer.from([0, 0, 0, 5, 1, 0, 0, 0, 3, 0, 0, 0, 6, 17, 0, 0, 0, 1, 0]), /truncated/],
  ] as const)("ends the session at %s, with its reason", async ([, bytes, reason]) => {
    await using session = await openUserSession();
    const channel = await subsystem(session);
    const outcome = ended(channel);
    channel.write(bytes);
    expect(await outcome).toMatchObject({ status: 11, stderr: expect.stringMatching(reason) });
  });

  test("a client that disconnects in the middle keeps what it has written, and the process ends", async () => {
    const session = await openUserSession();
    const files = await sftp(session);
    const handle = await new Promise<Buffer>((resolve, reject) =>
      files.open(join(dir, "cut"), "w", (error, opened) => (error ? reject(error) : resolve(opened))),
    );
    await new Promise((resolve) => files.write(handle, Buffer.alloc(100_000, 1), 0, 100_000, 0, resolve));
    await session[Symbol.asyncDispose]();
    await session.served;
    expect(statSync(join(dir, "cut")).size).toBe(100_000);
    expect(session.events.at(-3)).toMatchObject({ event: "sftp_summary", files_written: 1, bytes_written: 100_000 });
  });

  test("a process that hangs in a system call is ended soon after its client", async () => {
    const session = await openUserSession();
    execFileSync("mkfifo", [join(dir, "pipe")]);
    const files = await sftp(session);
    // Both arrive together: once the first is recorded, the second hangs.
    files.unlink(join(dir, "missing"), () => {});
    files.open(join(dir, "pipe"), "r", () => {});
    await until("the first request is done", () => session.events.some((event) => event.event === "sftp" && event.action === "remove"));
    await session[Symbol.asyncDispose]();
    await session.served;
    expect(session.events.at(-1)).toMatchObject({ event: "session.end", reason: "ended by SIGKILL" });
  });
});
