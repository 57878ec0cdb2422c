import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { TerminalModes } from "../../../core/ssh/terminal-modes.ts";
import { runCommand } from "../../../test/inside/run-command.ts";
import { openUserSession } from "../../../test/inside/ssh-session.ts";

test.for([0, 1, 7, 255])("the exit status %i arrives", async (status) => {
  await using session = await openUserSession();
  expect(await runCommand(session.client, `exit ${status}`)).toMatchObject({ code: status, signal: undefined });
});

test.for(["TERM", "KILL"])("a death by SIG%s arrives as a signal", async (name) => {
  await using session = await openUserSession();
  expect(await runCommand(session.client, `kill -${name} $$`)).toMatchObject({ code: null, signal: `SIG${name}` });
});

test("standard output and standard error stay apart, many channels at once", async () => {
  await using session = await openUserSession();
  const ran = await Promise.all([1, 2, 3, 4].map((one) => runCommand(session.client, `echo out${one}; echo err${one} >&2`)));
  const streams = ran.map(({ stdout, stderr }) => ({ stdout: stdout.toString(), stderr }));
  expect(streams).toEqual([1, 2, 3, 4].map((one) => ({ stdout: `out${one}\n`, stderr: `err${one}\n` })));
});

test("20 MB of random bytes come back from cat unchanged, and the end of input reaches it", async () => {
  await using session = await openUserSession();
  const sent = randomBytes(20 * 1024 * 1024);
  const ran = await runCommand(session.client, "cat", { feed: (channel) => channel.end(sent) });
  expect(ran.code).toBe(0);
  expect(createHash("sha256").update(ran.stdout).digest("hex")).toBe(createHash("sha256").update(sent).digest("hex"));
});

test("a program that reads nothing does not hold up its end", async () => {
  await using session = await openUserSession();
  const ran = await runCommand(session.client, "exit 3", { feed: (channel) => channel.end(Buffer.alloc(5_000_000)) });
  expect(ran.code).toBe(3);
});

test("a terminal has the requested size and kind, is the controlling one, and follows a change of size", async () => {
  await using session = await openUserSession();
  const command =
    'stty size; echo $TERM; [ "$(tty)" = "$SSH_TTY" ] && [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : > /dev/tty && echo controlling; read go; stty size';
  const ran = await runCommand(session.client, command, {
    pty: true,
    feed: (channel) => {
      let seen = "";
      channel.on("data", (chunk: Buffer) => {
        const before = seen.includes("controlling");
        seen += chunk.toString();
        if (before || !seen.includes("controlling")) return;
        channel.setWindow(44, 122, 0, 0);
        channel.write("go\n");
      });
    },
  });
  expect(ran.stdout.toString().replaceAll("\r", "")).toBe("33 101\nxterm-256color\ncontrolling\ngo\n44 122\n");
});

test.for<readonly [stty: string, modes: TerminalModes]>([
  ["intr ^X erase ^H eof undef -ixon iutf8", { VINTR: 24, VERASE: 8, VEOF: 255, IXON: 0, IUTF8: 1 }],
  [
    "lnext ^B rprnt ^T werase ^Y discard ^F start ^A stop ^E susp ^P",
    { VLNEXT: 2, VREPRINT: 20, VWERASE: 25, VDISCARD: 6, VSTART: 1, VSTOP: 5, VSUSP: 16 },
  ],
  [
    "quit ^N kill ^O eol ^L eol2 ^K -icrnl inlcr igncr ixany ixoff imaxbel iuclc",
    { VQUIT: 14, VKILL: 15, VEOL: 12, VEOL2: 11, ICRNL: 0, INLCR: 1, IGNCR: 1, IXANY: 1, IXOFF: 1, IMAXBEL: 1, IUCLC: 1 },
  ],
  ["istrip ignpar parmrk inpck -isig -icanon -echo -iexten", { ISTRIP: 1, IGNPAR: 1, PARMRK: 1, INPCK: 1, ISIG: 0, ICANON: 0, ECHO: 0, IEXTEN: 0 }],
  [
    "-echoe -echok echonl noflsh tostop -echoctl -echoke xcase",
    { ECHOE: 0, ECHOK: 0, ECHONL: 1, NOFLSH: 1, TOSTOP: 1, ECHOCTL: 0, ECHOKE: 0, XCASE: 1 },
  ],
  ["-opost olcuc -onlcr ocrnl onocr onlret", { OPOST: 0, OLCUC: 1, ONLCR: 0, OCRNL: 1, ONOCR: 1, ONLRET: 1 }],
  ["ospeed 9600 ispeed 9600", { TTY_OP_ISPEED: 9600, TTY_OP_OSPEED: 9600 }],
  ["intr ^C", { VSTATUS: 5, TTY_OP_OSPEED: 12_345, VINTR: 3 }],
])("a terminal is set as the client's: stty %s", async ([stty, modes]) => {
  await using session = await openUserSession();
  const asked = await runCommand(session.client, "stty -g", { pty: true, modes });
  const set = await runCommand(session.client, `stty ${stty}; stty -g`, { pty: true });
  expect(asked.stdout.toString().trim()).toBe(set.stdout.toString().trim());
});

test("input beyond what a terminal holds neither blocks the agent nor is lost", async () => {
  await using session = await openUserSession();
  const text = `${"x".repeat(63)}\n`.repeat(4_000);
  const slow = runCommand(session.client, "stty raw -echo; echo ready; sleep 0.3; head -c 256000 | sha256sum", {
    pty: true,
    feed: (channel) => channel.once("data", () => channel.write(text)),
  });
  const other = await runCommand(session.client, "echo alive");
  expect(other.stdout.toString()).toBe("alive\n");
  expect((await slow).stdout.toString()).toContain(createHash("sha256").update(text).digest("hex"));
});

test("the environment is the user's and the accepted variables, and none of the agent's", async () => {
  process.env.PLATFORM_TEST_SECRET = "hush";
  await using session = await openUserSession();
  const ran = await runCommand(session.client, "tr '\\0' '\\n' < /proc/$$/environ; pwd", {
    env: { LANG: "C.UTF-8", LC_TIME: "C", LD_PRELOAD: "/evil.so", BASH_ENV: "/evil" },
  });
  delete process.env.PLATFORM_TEST_SECRET;
  const lines = ran.stdout.toString().trim().split("\n");
  const names = lines.filter((line) => line.includes("=")).map((line) => line.split("=")[0]);
  expect(names.sort()).toEqual(
    ["HOME", "LANG", "LC_TIME", "LOGNAME", "MAIL", "PATH", "PLATFORM_SESSION", "SHELL", "SSH_CLIENT", "SSH_CONNECTION", "USER"].sort(),
  );
  expect(lines).toContain("SSH_CLIENT=192.0.2.7 40000 22");
  expect(lines.at(-1)).toBe(session.home);
});

test("a command and a variable are the bytes that the client sent, and the audit log shows them", async () => {
  await using session = await openUserSession();
  const odd = Buffer.from([0xe4, 0xff, 0xc3, 0xa4, 0x80]);
  const command = Buffer.concat([Buffer.from(`printf %s "$LC_ODD" '`), odd, Buffer.from("'")]);
  const ran = await runCommand(session.client, command, { env: { LC_ODD: odd } });
  expect(ran.stdout).toEqual(Buffer.concat([odd, odd]));
  expect(session.events).toContainEqual(expect.objectContaining({ event: "exec", command: `printf %s "$LC_ODD" '\\xe4\\xff\\xc3\\xa4\\x80'` }));
});

test("a program gets three descriptors, default signals and none blocked", async () => {
  await using session = await openUserSession();
  const command = "ls /proc/self/fd | wc -l; grep -E 'SigIgn|SigBlk' /proc/self/status";
  const plain = (await runCommand(session.client, command)).stdout.toString();
  const onTerminal = (await runCommand(session.client, command, { pty: true })).stdout.toString().replaceAll("\r", "");
  // Signals from 32 on belong to the C library, some of which are ignored when make started us.
  const standard = (printed: string): string =>
    printed.replaceAll(/\t[0-9a-f]{8}/g, "\t").replace(/\t[8-9a-f]/g, (digits) => `\t${(Number.parseInt(digits, 16) & 7).toString(16)}`);
  // ls itself opens the folder: 0, 1, 2 and 3.
  const expected = "4\nSigBlk:\t00000000\nSigIgn:\t00000000\n";
  expect([plain, onTerminal].map(standard)).toEqual([expected, expected]);
});

test("a signal request reaches the whole process group", async () => {
  await using session = await openUserSession();
  const ran = await runCommand(session.client, "trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done", {
    feed: (channel) => channel.once("data", () => channel.signal("USR1")),
  });
  expect(ran).toMatchObject({ code: 5 });
  expect(ran.stdout.toString()).toBe("ready\ngot\n");
});

test("a client that closes its channel early hangs up the process group", async () => {
  await using session = await openUserSession();
  const file = `/tmp/platform-hup-${process.pid}`;
  await runCommand(session.client, `trap 'echo hup > ${file}; exit' HUP; echo ready; while :; do sleep 0.05; done`, {
    feed: (channel) => channel.once("data", () => channel.close()),
  });
  const ran = await runCommand(session.client, `until [ -s ${file} ]; do sleep 0.05; done; cat ${file}; rm ${file}`);
  expect(ran.stdout.toString()).toBe("hup\n");
});

test("a program that closes its terminal before it exits is not hung up, and its output is shown", async () => {
  await using session = await openUserSession();
  const ran = await runCommand(session.client, "echo shown; exec <&- >&- 2>&-; sleep 0.3; exit 7", { pty: true, feed: () => {} });
  expect([ran.code, ran.signal, ran.stdout.toString()]).toEqual([7, undefined, "shown\r\n"]);
});
