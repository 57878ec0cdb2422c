import { expect, test } from "vitest";
import type { CommandSpec } from "../command.ts";
import { memoryIo } from "../memory-io.ts";
import { runProgram } from "../run-program.ts";
import { sshCommand } from "./ssh-command.ts";
import { parseOption } from "./ssh-option.ts";
import { readSettings, type SshSettings, sentEnv } from "./ssh-settings.ts";

/** What this command line asks for, parsed as the program parses it; or what it printed. */
async function parsed(...words: string[]): Promise<{ settings: SshSettings | undefined; args: readonly string[]; err: string }> {
  let settings: SshSettings | undefined;
  let args: readonly string[] = [];
  const spec: CommandSpec = {
    ...sshCommand({ login: { flags: "-l, --login <login>", text: "" }, proxy: { flags: "--proxy <address>", text: "" } }),
    run: async (call) => {
      settings = readSettings(call.options, call.options.values("option").map(parseOption));
      args = call.args;
      return { data: undefined, text: "" };
    },
  };
  const io = memoryIo({}, "");
  await runProgram({ name: "tsh", summary: "", commands: [spec] }, ["ssh", ...words], io);
  return { settings, args, err: io.err() };
}

test.for([
  ["-N host", { isForwardOnly: true, isStdinNull: false }, ["host"]],
  ["--forward-only host", { isForwardOnly: true }, ["host"]],
  ["host -nNT", { isForwardOnly: true, isStdinNull: true, tty: "never" }, ["host"]],
  ["host -p 22 -l root -o SendEnv=X ls -l", { login: "root", sentNames: ["X"] }, ["host", "ls", "-l"]],
  ["host -- -l", {}, ["host", "-l"]],
  ["-- host -l root id", { login: "root" }, ["host", "id"]],
  ["-oUser=bob -oUser=eve host", { login: "bob" }, ["host"]],
  ["-l alice -oUser=bob host", { login: "alice" }, ["host"]],
  [
    "-x -a -oClearAllForwardings=yes -L 1:h:2 -2 host -s sftp",
    { isSubsystem: true, agent: false, forwards: { local: [], remote: [], dynamic: [] } },
    ["host", "sftp"],
  ],
  ["-A -a host", { agent: false }, ["host"]],
  ["-oForwardAgent=yes host", { agent: true }, ["host"]],
  ["-tt -C -o ControlMaster=auto -o ControlPersist=60s host", { tty: "forced" }, ["host"]],
  ["-t host", { tty: "wanted" }, ["host"]],
  ["-oRequestTTY=force host", { tty: "forced" }, ["host"]],
  ["-oSessionType=none host", { isForwardOnly: true }, ["host"]],
  ["-q -v -e none host", { isQuiet: true, isVerbose: true, escape: undefined }, ["host"]],
  ["-e ^B host", { escape: "\u0002" }, ["host"]],
  ["-oLogLevel=ERROR host", { isQuiet: false, isVerbose: false, escape: "~" }, ["host"]],
  ["-oRemoteCommand=uptime host", { command: "uptime" }, ["host"]],
  ["-oExitOnForwardFailure=yes -D 1080 host", { forwards: { isStrict: true, dynamic: [{ host: "localhost", port: 1080 }] } }, ["host"]],
] as const)("tsh ssh %s", async ([line, wanted, args]) => {
  const done = await parsed(...line.split(" "));
  expect(done.err).toBe("");
  expect(done.settings).toMatchObject(wanted);
  expect(done.args).toEqual(args);
});

test("a local forward of a configuration has a space between its places", async () => {
  const { settings } = await parsed("-o", "LocalForward 8080 db:80", "host");
  expect(settings?.forwards.local).toEqual([{ listen: { host: "localhost", port: 8080 }, connect: { host: "db", port: 80 } }]);
});

test.for([
  ["-J jump host", /^ERROR: tsh ssh has no -J: /],
  ["-f host", /^ERROR: tsh ssh has no -f: /],
  ["host -M ls", /^ERROR: tsh ssh has no -M: /],
  ["-W a:1 host", /^ERROR: tsh ssh has no -W: /],
  ["-Z host", /^ERROR: unknown option '-Z'/],
  ["host -Z", /^ERROR: unknown option '-Z'/],
  ["-e long host", /is not an escape character/],
  ["-oRequestTTY=maybe host", /-o RequestTTY: "maybe" is not one of no, yes, force, auto/],
] as const)("tsh ssh %s is refused by name", async ([line, says]) => {
  const done = await parsed(...line.split(" "));
  expect(done.settings).toBeUndefined();
  expect(done.err).toMatch(says);
});

test("the variables that were asked for go along", () => {
  const env = { LANG: "a", GIT_PROTOCOL: "version=2", SECRET: "x" };
  expect(sentEnv(env, { sentNames: ["GIT_*"], setEnv: { A: "b" } })).toEqual({ LANG: "a", GIT_PROTOCOL: "version=2", A: "b" });
});
