import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { hasProgram } from "../world/has-program.ts";
import { output, program, run } from "../world/program.ts";
import { stockSshd } from "../world/stock-sshd.ts";

/** A stock OpenSSH client gets in, and checks our host certificates through the authority that `tctl auth export` prints. */
describe("stock OpenSSH", () => {
  const login = userInfo().username;
  let cluster: Cluster;
  let user: User;
  let dir: string;
  let config: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-openssh-"));
    cluster = await startCluster({ mode: "separate" });
    await cluster.agent({ name: "web-1" });
    await cluster.agent({ name: "ctr-1", platformSection: "  ciphers: [aes128-gcm@openssh.com, aes256-ctr]\n" });
    user = await cluster.user("alice", { logins: login });
    config = join(dir, "config");
    const printed = await user.tsh(["config"]);
    expect(printed.stderr).toBe("");
    await writeFile(config, printed.stdout);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const env = (): Record<string, string> => ({ TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` });
  const ssh = (args: readonly string[]) => run("ssh", ["-F", config, "-o", "BatchMode=yes", ...args], { env: env(), limitMs: 30_000 });

  test("gets in through tsh proxy ssh, with the stanza of tsh config", async () => {
    const done = await ssh([`${login}@web-1.test.cluster`, "echo hello; exit 7"]);
    expect(done).toMatchObject({ stdout: "hello\n", status: 7 });
  });

  test("shows the reason when the login is refused", async () => {
    const done = await ssh(["daemon@web-1.test.cluster", "true"]);
    expect(done.status).toBe(255);
    expect(done.stderr).toMatch(/alice may not log in as daemon/);
  });

  test("gets in through port 3023 as a jump host, checking hosts by the exported authority", async () => {
    const keys = await run("find", [user.home, "-name", "*-cert.pub"]);
    const certificate = keys.stdout.trim().split("\n")[0] as string;
    const known = join(dir, "known_hosts");
    await writeFile(known, await cluster.admin("auth", "export", "--type=host"));
    const jump = join(dir, "jump");
    const identity = certificate.replace(/-cert\.pub$/, "");
    await writeFile(
      jump,
      `Host *
  IdentityFile ${identity}
  CertificateFile ${certificate}
  IdentitiesOnly yes
  UserKnownHostsFile ${known}
  StrictHostKeyChecking yes
  BatchMode yes
Host jump
  HostName 127.0.0.1
  HostKeyAlias control.test.cluster
  Port ${cluster.ports.ssh}
  User alice
Host web-1.test.cluster
  ProxyJump jump
`,
    );
    const done = await run("ssh", ["-F", jump, `${login}@web-1.test.cluster`, "echo through"], { limitMs: 30_000 });
    expect(done, done.stderr).toMatchObject({ stdout: "through\n", status: 0 });
    const shell = await run("ssh", ["-F", jump, "jump", "id"], { limitMs: 30_000 });
    expect(shell.status).not.toBe(0);
  });

  /** In a shell, because arguments that are not UTF-8 cannot be given otherwise. */
  const bash = (script: string) =>
    run("bash", ["-c", script, "bash", config, `${login}@web-1.test.cluster`], { env: env(), cwd: dir, limitMs: 60_000 });

  test("commands, files and variables whose bytes are not UTF-8 arrive as they are", async () => {
    const done = await bash(`set -e
      name=$(printf 'caf\\351'); mkdir odd; echo "what is in it" > "odd/$name"
      ssh -F "$1" "$2" "cat $PWD/odd/$name"
      scp -q -O -F "$1" "$2:$PWD/odd/$name" by-scp; cat by-scp
      scp -q -O -F "$1" by-scp "$2:$PWD/odd/$name-2"; cat "odd/$name-2"
      command -v rsync >/dev/null && rsync -e "ssh -F $1" "$2:$PWD/odd/$name" by-rsync || cp by-scp by-rsync; cat by-rsync
      LC_ODD=$(printf 'a\\377b') ssh -F "$1" -o SendEnv=LC_ODD "$2" 'printf %s "$LC_ODD"' | od -An -tx1`);
    expect(done.stderr).toBe("");
    expect(done.stdout).toBe(`${"what is in it\n".repeat(4)} 61 ff 62\n`);
  });

  test("a terminal is there as it is here, as with sshd", async () => {
    const stock = await stockSshd(dir);
    const asked = "stty intr ^X erase ^H eof ^B kill ^K susp undef -ixon ixany iutf8 -imaxbel -echoctl tostop ospeed 9600 ispeed 9600; stty -g";
    const at = async (args: readonly string[]): Promise<string[]> => {
      const line = [...args, "stty -g"].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
      const done = await run("script", ["-qec", `${asked}; ssh -tt ${line} 2>/dev/null`, "/dev/null"], {
        env: { ...env(), SHELL: "/bin/sh" },
        limitMs: 30_000,
      });
      // What `stty -g` prints, without what else terminals show.
      return done.stdout.match(/[0-9a-f]+(?::[0-9a-f]+){20,}/g) ?? [];
    };
    const [here, ours] = await at(["-F", config, `${login}@web-1.test.cluster`]);
    expect(here).toMatch(/^4900:/);
    expect(ours).toBe(here);
    expect(await at([...stock, `${login}@sshd`])).toEqual([here, ours]);
  });

  test("nine listeners here and there, used at once, all answer", async () => {
    const done = await bash(`
      python3 - "$1" "$2" <<'END'
import socket, subprocess, sys, threading, time
def listener():
    one = socket.socket(); one.bind(("127.0.0.1", 0)); one.listen(64); return one
target = listener()
def answer():
    while True:
        one, _ = target.accept(); one.sendall(b"hi"); one.close()
threading.Thread(target=answer, daemon=True).start()
free = [listener() for _ in range(18)]
ports = [one.getsockname()[1] for one in free]
for one in free: one.close()
near, far = ports[:9], ports[9:]
args = []
for here, there in zip(near, far):
    args += ["-L", f"127.0.0.1:{here}:127.0.0.1:{there}", "-R", f"127.0.0.1:{there}:127.0.0.1:{target.getsockname()[1]}"]
ssh = subprocess.Popen(["ssh", "-F", sys.argv[1], "-N", "-o", "ExitOnForwardFailure=yes", *args, sys.argv[2]])
def reach(port):
    end = time.time() + 20
    while True:
        try: return socket.create_connection(("127.0.0.1", port))
        except OSError:
            if time.time() > end: raise
            time.sleep(0.005)
opened = [reach(port) for port in near]
print(b"".join(one.recv(2) for one in opened).decode())
ssh.terminate()
END`);
    expect(done).toMatchObject({ stdout: `${"hi".repeat(9)}\n`, status: 0 });
  });

  test.for<readonly [host: string, options: readonly string[], status: number, words: RegExp]>([
    ["web-1", ["-c", "chacha20-poly1305@openssh.com"], 0, /^$/],
    ["web-1", ["-c", "aes256-ctr"], 255, /Their offer: aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com/],
    ["ctr-1", ["-c", "aes256-ctr"], 0, /^$/],
    [
      "ctr-1",
      ["-c", "aes256-ctr", "-m", "hmac-sha2-256"],
      255,
      /no matching MAC found. Their offer: hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com/,
    ],
    ["web-1", ["-o", "KexAlgorithms=ecdh-sha2-nistp384"], 0, /^$/],
    [
      "web-1",
      ["-o", "HostKeyAlgorithms=ssh-ed25519", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"],
      0,
      /^Warning: Permanently added [^\n]*\n$/,
    ],
  ])("%s with %j ends with %i", async ([host, options, status, words]) => {
    const done = await ssh([...options, `${login}@${host}.test.cluster`, "true"]);
    expect(done, done.stderr).toMatchObject({ status, stderr: expect.stringMatching(words) });
  });

  /** Of the stanza: what a client needs that does not read it. */
  const stanza = (name: string): Promise<string> => output("sed", ["-n", `s/^ *${name} //p`, config]).then((text) => text.trim());
  const through = (host: string): Promise<string> =>
    stanza("ProxyCommand").then((line) => line.replace("%r", login).replace("%h", `${host}.test.cluster`).replace("%p", "22"));

  test.skipIf(!hasProgram("plink") || !hasProgram("puttygen"))("PuTTY gets in with its certificate, and knows the host by its key", async () => {
    const key = join(dir, "putty.ppk");
    await output("puttygen", [await stanza("IdentityFile"), "-O", "private", "-o", key]);
    const shown = await ssh(["-v", `${login}@web-1.test.cluster`, "true"]);
    const fingerprint = /Server host certificate: \S+ (SHA256:\S+?),/.exec(shown.stderr)?.[1] ?? "";
    const options = [
      "-batch",
      "-v",
      "-hostkey",
      fingerprint,
      "-i",
      key,
      "-cert",
      await stanza("CertificateFile"),
      "-proxycmd",
      await through("web-1"),
    ];
    const done = await run("plink", [...options, `${login}@web-1.test.cluster`, "echo putty"], { env: env(), limitMs: 30_000 });
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "putty\n" });
    expect(done.stderr).toContain("Initialised ChaCha20 outbound encryption");
  });

  test.skipIf(!hasProgram("dbclient"))("Dropbear agrees on keys and knows the host; it has no certificates to log in with", async () => {
    const args = ["-y", "-y", "-J", await through("web-1"), `${login}@web-1.test.cluster`, "true"];
    const done = await run("dbclient", args, { env: { ...env(), HOME: dir }, limitMs: 30_000 });
    expect(done.status).toBe(1);
    expect(done.stderr).toContain("No auth methods could be used");
  });

  test("refuses a host whose certificate another authority signed", async () => {
    const other = join(dir, "other");
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", other]);
    const key = (await run("cat", [`${other}.pub`])).stdout;
    await writeFile(join(dir, "other_hosts"), `@cert-authority * ${key}`);
    const done = await ssh(["-o", `UserKnownHostsFile=${join(dir, "other_hosts")}`, `${login}@web-1.test.cluster`, "true"]);
    expect(done.status).toBe(255);
    expect(done.stderr).toMatch(/host key/i);
  });
});
