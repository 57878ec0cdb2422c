import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { skip } from "../world/openssh-keys.ts";
import { type Finished, program, run } from "../world/program.ts";
import { stockSshd } from "../world/stock-sshd.ts";

interface Situation {
  readonly command?: string;
  readonly input?: string | Buffer;
  /** More arguments of ssh. */
  readonly args?: readonly string[];
  /** A situation that `tsh ssh` has no words for. */
  readonly onlyStock?: boolean;
  /** Exit status of `tsh ssh` where it tells more than ssh's 255. */
  readonly tshStatus?: number;
}

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
const megabyte = randomBytes(1_000_000);

/**
 * Each is run with the stock ssh to the stock sshd, with the stock ssh to our agent, and with `tsh ssh`: all must be alike. Where a
 * command sleeps, its own timing is the situation, such as output after the shell has ended; what is waited for is its end.
 */
const situations: Readonly<Record<string, Situation>> = {
  success: { command: "true" },
  "exit status 1": { command: "exit 1" },
  "exit status 3": { command: "exit 3" },
  "exit status 126": { command: "/etc/passwd" },
  "exit status 127": { command: "no-such-command-here" },
  "exit status 255": { command: "exit 255" },
  "exit status above a byte": { command: "exit 257" },
  "a syntax error": { command: "if then" },
  "death by SIGTERM": { command: "kill -TERM $$", tshStatus: 143 },
  "death by SIGKILL": { command: "kill -KILL $$", tshStatus: 137 },
  "death by SIGSEGV": { command: "ulimit -c 0; kill -SEGV $$", tshStatus: 139 },
  "death by SIGPIPE": { command: "kill -PIPE $$", tshStatus: 141 },
  "death by SIGUSR1": { command: "kill -USR1 $$", tshStatus: 138 },
  "death of a child only": { command: "{ sh -c 'kill -KILL $$'; } 2>/dev/null; echo $?" },
  "standard output": { command: "echo out" },
  "standard error": { command: "echo err >&2" },
  "both, in turns": { command: "for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 9" },
  "no newline at the end": { command: "printf x; printf y >&2" },
  "every byte out": { command: `printf '${[...everyByte].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}'` },
  "every byte in and out": { command: "cat", input: everyByte },
  "a megabyte in and out": { command: "cat", input: megabyte },
  "ten megabytes out": { command: "head -c 10000000 /dev/zero | tr '\\0' x" },
  "a megabyte of errors": { command: "head -c 1000000 /dev/zero | tr '\\0' e >&2" },
  "a hash of what came in": { command: "sha256sum", input: megabyte },
  "no input": { command: "wc -c", input: "" },
  "input that nobody reads": { command: "exit 4", input: megabyte },
  "input that is read in part": { command: "head -c 10 | wc -c; exit 5", input: megabyte },
  "input that is closed at once": { command: "exec 0<&-; exit 6", input: megabyte },
  "the end of input, then more output": { command: "wc -c; sleep 0.2; echo after", input: "four" },
  "output closed before the end": { command: "echo before; exec 1>&-; sleep 0.3; exit 7" },
  "both outputs closed before the end": { command: "exec 1>&- 2>&-; sleep 0.3; exit 8" },
  "output after the shell has ended": { command: "(sleep 0.4; echo late) & echo now; exit 3" },
  "errors after the shell has ended": { command: "(sleep 0.4; echo late >&2) & exit 2" },
  "a slow reader on the host": { command: "sleep 0.5; wc -c", input: megabyte },
  "a slow writer on the host": { command: "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done" },
  "quotes and blanks": { command: `echo "a  b" 'c $HOME' d\\ e "f\\"g"` },
  "a glob": { command: "cd /etc && echo host*" },
  "several lines": { command: "echo one\necho two\nexit 3" },
  "a comment": { command: "echo seen # unseen" },
  "letters beyond ASCII": { command: "printf 'grüße ☃\\n'" },
  "a long command": { command: `echo ${"x".repeat(30_000)} | wc -c` },
  "where it starts": { command: "pwd" },
  "who it is": { command: "id -un; id -G; echo $HOME $USER $LOGNAME $SHELL" },
  "its mask": { command: "umask" },
  "no terminal": { command: "for fd in 0 1 2; do test -t $fd; echo $?; done; tty" },
  "its own session": { command: "test $(ps -o sid= -p $$) = $$; echo $?; ps -o tty= -p $$" },
  "the signals that it ignores": { command: "grep -c . /dev/null; trap; trap '' HUP; kill -HUP $$; echo alive" },
  "a shell that reads its commands": { input: "echo from the input; exit 11\n" },
  "a language is taken": { command: "echo $LC_TEST", args: ["-o", "SetEnv=LC_TEST=taken"], onlyStock: true },
  "another variable is not": { command: "echo [$OTHER]", args: ["-o", "SetEnv=OTHER=refused"], onlyStock: true },
  "a long variable": { command: "echo $LC_LONG | wc -c", args: ["-o", `SetEnv=LC_LONG=${"x".repeat(3000)}`], onlyStock: true },
  "a terminal for a command": { command: "test -t 0 && test -t 1 && test -t 2 && echo terminal; exit 3", args: ["-tt"] },
  "a terminal joins output and errors": { command: "echo out; echo err >&2", args: ["-tt"] },
  "an unknown subsystem": { command: "no-such-subsystem", args: ["-s"], onlyStock: true },
  "a refused port": { args: ["-W", "127.0.0.1:1"], onlyStock: true },
  "a port of nobody's host": { args: ["-W", "no-such-host.invalid:80"], onlyStock: true },
};

describe.skipIf(skip)("OpenSSH is the yardstick", () => {
  const login = userInfo().username;
  let cluster: Cluster;
  let user: User;
  let dir: string;
  let stock: readonly string[];
  let echo: Server;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-parity-"));
    stock = await stockSshd(dir);
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
    await writeFile(join(dir, "config"), (await user.tsh(["config"])).stdout);
    echo = createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}).pipe(socket));
    await once(echo.listen(0, "127.0.0.1"), "listening");
  });
  afterAll(async () => {
    echo?.close();
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const words = ({ command }: Situation): readonly string[] => (command === undefined ? [] : [command]);
  const options = (input: Situation["input"]) => ({ input: input ?? "", limitMs: 60_000 });
  const common = ["-o", "BatchMode=yes", "-o", "LogLevel=ERROR"];

  function toSshd(situation: Situation): Promise<Finished> {
    return run("ssh", [...stock, ...common, ...(situation.args ?? []), `${login}@host`, ...words(situation)], options(situation.input));
  }

  function toAgent(situation: Situation): Promise<Finished> {
    const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
    const args = ["-F", join(dir, "config"), ...common, ...(situation.args ?? []), `${login}@web-1.test.cluster`, ...words(situation)];
    return run("ssh", args, { ...options(situation.input), env });
  }

  function withTsh(situation: Situation): Promise<Finished> {
    return user.tsh(["ssh", ...(situation.args ?? []), `${login}@web-1`, ...words(situation)], options(situation.input));
  }

  function told({ status, raw, stderr }: Finished) {
    const stdout = raw.length > 2000 ? `${raw.length} bytes ${createHash("sha256").update(raw).digest("hex")}` : raw.toString("latin1");
    return { status, stdout, stderr: stderr.length > 2000 ? createHash("sha256").update(stderr).digest("hex") : stderr };
  }

  test.for(Object.entries(situations))("%s", async ([, situation]) => {
    const expected = told(await toSshd(situation));
    expect(told(await toAgent(situation))).toEqual(expected);
    if (situation.onlyStock === true) return;
    expect(told(await withTsh(situation))).toEqual({ ...expected, status: situation.tshStatus ?? expected.status });
  });

  test("a forwarded connection half-closes", async () => {
    const situation = { args: ["-W", `127.0.0.1:${(echo.address() as AddressInfo).port}`], input: megabyte };
    const expected = told(await toSshd(situation));
    expect(expected.stdout).toContain("1000000 bytes");
    expect(told(await toAgent(situation))).toEqual(expected);
  });
});
