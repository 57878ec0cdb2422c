import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { hasProgram } from "../world/has-program.ts";
import { output, program, run } from "../world/program.ts";

const root = userInfo().uid === 0;

/** Files go to and from a host: with `tsh scp`, and with the programs that people have, through the stanza of `tsh config`. */
describe("copying files", () => {
  const account = `pf${process.pid.toString(36)}`;
  const login = root ? account : userInfo().username;
  let cluster: Cluster;
  let user: User;
  let dir: string;
  let config: string;
  /** A folder of the Unix user on the host. */
  let far: string;
  const big = randomBytes(5_000_000);
  beforeAll(async () => {
    if (root) await output("useradd", ["-m", "-s", "/bin/bash", account]);
    dir = await mkdtemp(join(tmpdir(), "platform-copy-"));
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: `${login},root` });
    config = join(dir, "config");
    await writeFile(config, (await user.tsh(["config"])).stdout);
    far = join(dir, "far");
    await mkdir(far);
    await chmod(dir, 0o755);
    if (root) await output("chown", [`${account}:`, far]);
    await mkdir(join(dir, "tree/sub/deep"), { recursive: true });
    await writeFile(join(dir, "tree/big"), big);
    await writeFile(join(dir, "tree/sub/a b'c"), "quoted");
    await writeFile(join(dir, "tree/sub/ü"), "umlaut");
    await writeFile(join(dir, "tree/sub/deep/tool"), "#!/bin/sh\n");
    await chmod(join(dir, "tree/sub/deep/tool"), 0o755);
    await writeFile(join(dir, "tree/empty"), "");
    await symlink("big", join(dir, "tree/link"));
    await utimes(join(dir, "tree/sub"), 1_000_000_000, 1_100_000_000);
    await utimes(join(dir, "tree/big"), 1_000_000_000, 1_200_000_000);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
    if (root) await run("userdel", ["-r", account]);
  });

  const env = () => ({ TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` });
  const host = `${login}@web-1.test.cluster`;
  const scp = (...args: string[]) => user.tsh(["scp", ...args], { limitMs: 60_000 });
  /** A stock program that ends well. */
  const stock = async (command: string, ...args: string[]): Promise<string> => {
    const git = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    const done = await run(command, args, { env: { ...env(), ...git }, limitMs: 90_000 });
    expect(done, `${command} ${args.join(" ")}\n${done.stdout}${done.stderr}`).toMatchObject({ status: 0 });
    return done.stdout;
  };
  /** All names, kinds, modes and contents below a folder. */
  const shape = async (folder: string, what = "%P %y %m"): Promise<string> =>
    (await output("find", [folder, "-mindepth", "1", "-printf", `${what}\n`])).split("\n").toSorted().join("\n") +
    (await output("sh", ["-c", 'cd "$1" && find . -type f -exec sha256sum {} + | sort', "sh", folder]));
  const fresh = async (name: string): Promise<string> => {
    const place = join(far, name);
    await mkdir(place);
    if (root) await output("chown", [`${account}:`, place]);
    return place;
  };

  test("tsh scp -r -p takes a tree there and back", async () => {
    const place = await fresh("tsh");
    const up = await scp("-r", "-p", join(dir, "tree"), `${login}@web-1:${place}`);
    expect(up, up.stderr).toMatchObject({ status: 0, stdout: "", stderr: "" });
    // Links are followed.
    await output("cp", ["-rLp", join(dir, "tree"), join(dir, "want")]);
    expect(await shape(join(place, "tree"))).toBe(await shape(join(dir, "want")));
    expect((await stat(join(place, "tree/sub"))).mtimeMs).toBe(1_100_000_000_000);
    if (root) expect((await stat(join(place, "tree/big"))).uid).not.toBe(0);
    const down = await scp("-rp", `${login}@web-1:${place}/tree`, join(dir, "back"));
    expect(down, down.stderr).toMatchObject({ status: 0, stderr: "" });
    expect(await shape(join(dir, "back"), "%P %y %m %Ts")).toBe(await shape(join(dir, "want"), "%P %y %m %Ts"));
  });

  test("tsh scp finds patterns, the home and several sources", async () => {
    const place = await fresh("globs");
    const done = await scp(join(dir, "tree/empty"), join(dir, "tree/big"), `${login}@web-1:${place}/`);
    expect(done.stderr).toBe("");
    await mkdir(join(dir, "found"));
    expect(await scp(`${login}@web-1:${place}/[be]*`, join(dir, "found"))).toMatchObject({ status: 0, stderr: "" });
    expect((await output("ls", [join(dir, "found")])).trim().split("\n")).toEqual(["big", "empty"]);
    if (!root) return;
    expect(await scp(join(dir, "tree/empty"), `${login}@web-1:`)).toMatchObject({ status: 0, stderr: "" });
    expect(await scp(`${login}@web-1:~/empty`, join(dir, "home-file"))).toMatchObject({ status: 0, stderr: "" });
    expect((await stat(`/home/${account}/empty`)).size).toBe(0);
  });

  test("tsh scp continues an interrupted copy, and starts again when the file there is a different one", async () => {
    const place = await fresh("resume");
    const source = join(dir, "tree/big");
    const target = join(place, "big");
    const copy = async (): Promise<void> => {
      const done = await scp(source, `${login}@web-1:${target}`);
      expect(done, done.stderr).toMatchObject({ status: 0 });
      expect((await readFile(target)).equals(big)).toBe(true);
    };
    await copy();
    const inode = (await stat(target)).ino;
    await truncate(target, 3_000_000);
    await copy();
    expect((await stat(target)).ino).toBe(inode);
    await writeFile(target, Buffer.concat([big.subarray(0, 1_500_000), Buffer.alloc(1_000_000, 1)]));
    await copy();
    const back = join(dir, "resume-back");
    await writeFile(back, big.subarray(0, 2_500_000));
    expect(await scp(`${login}@web-1:${target}`, back)).toMatchObject({ status: 0, stderr: "" });
    expect((await readFile(back)).equals(big)).toBe(true);
  });

  test.for<readonly [name: string, args: () => string[], status: number, words: RegExp]>([
    ["no such remote file", () => [`${login}@web-1:/no/such/file`, dir], 5, /\/no\/such\/file: No such file or directory/],
    ["no such local file", () => [join(dir, "nowhere"), `${login}@web-1:${far}`], 5, /nowhere: No such file or directory/],
    [
      "no such folder there",
      () => [join(dir, "tree/empty"), `${login}@web-1:/no/such/folder/x`],
      5,
      /empty: could not write \/no\/such\/folder\/x: No such/,
    ],
    ["no such folder here", () => [`${login}@web-1:/etc/hostname`, "/no/such/x"], 5, /hostname: could not write \/no\/such\/x: No such file/],
    ["a folder without -r", () => [join(dir, "tree"), `${login}@web-1:${far}`], 2, /tree: this is a folder\ncopy folders with -r/],
    ["several into a file", () => [join(dir, "tree/empty"), join(dir, "config"), `${login}@web-1:${far}/none`], 5, /is not a folder/],
    ["from host to host", () => ["web-1:a", "web-2:b"], 2, /copying from host to host is not supported/],
    ["nothing remote", () => ["a", "b"], 2, /neither the source nor the target is a host/],
    ["a full disk", () => [join(dir, "tree/big"), `${login}@web-1:/dev/full`], 7, /No space left on device/],
  ])("tsh scp says what is wrong: %s", async ([, args, status, words]) => {
    const done = await scp(...args());
    expect(done.stderr).toMatch(words);
    expect(done.status).toBe(status);
  });

  test("a FIFO without a writer or reader is refused at once on both sides", async () => {
    const fifo = join(dir, "fifo");
    await output("mkfifo", [fifo]);
    expect(await scp(fifo, `${login}@web-1:${far}/fifo`)).toMatchObject({ status: 2, stderr: expect.stringContaining("fifo: not a regular file") });
    expect(await scp(`${login}@web-1:/etc/hostname`, fifo)).toMatchObject({ status: 2, stderr: expect.stringContaining("not a regular file") });
  });

  test("a name that is not UTF-8 is given as it is", async () => {
    const place = await fresh("bytes");
    const script = `name=$(printf 'gr\\374n'); cd "$1"; echo raw > "$name"; tsh scp "$name" "$2" && tsh scp "$2/$name" bytes-back && cat bytes-back`;
    const done = await run("bash", ["-c", script, "bash", dir, `${login}@web-1:${place}`], { env: env() });
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "raw\n" });
    expect((await run("ls", [place], { env: env() })).raw.toString("latin1")).toBe("gr\xfcn\n");
  });

  test.skipIf(!root)("SFTP gives no more access than the Unix user has", async () => {
    const read = await scp(`${login}@web-1:/etc/shadow`, join(dir, "shadow"));
    expect(read).toMatchObject({ status: 4, stderr: expect.stringContaining("/etc/shadow: Permission denied") });
    const written = await scp(join(dir, "tree/empty"), `${login}@web-1:${far}/../../../../../etc/platform-was-here`);
    expect(written).toMatchObject({ status: 4, stderr: expect.stringContaining("Permission denied") });
    // The serving process itself: a file of no size, which is read to its end.
    expect(await scp(`${login}@web-1:/proc/self/status`, join(dir, "status"))).toMatchObject({ status: 0, stderr: "" });
    const uid = (await output("id", ["-u", account])).trim();
    expect(await readFile(join(dir, "status"), "utf8")).toMatch(new RegExp(`Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s+${uid}\n`));
  });

  test("stock scp, over SFTP and over its old protocol", async () => {
    for (const [name, ...more] of [["scp"], ["scp-old", "-O"]] as const) {
      const place = await fresh(name);
      await stock("scp", "-F", config, ...more, "-r", "-p", join(dir, "tree"), `${host}:${place}`);
      await stock("scp", "-F", config, ...more, "-r", "-p", `${host}:${place}/tree`, join(dir, `back-${name}`));
      expect(await shape(join(dir, `back-${name}`), "%P %y %m %Ts")).toBe(await shape(join(dir, "want"), "%P %y %m %Ts"));
    }
  });

  test("stock sftp in batch mode", async () => {
    const place = await fresh("batch");
    const script = join(dir, "batch");
    const lines = [
      `cd ${place}`,
      `put -r ${dir}/tree .`,
      "rename tree/big tree/bigger",
      "ln -s bigger tree/short",
      "chmod 600 tree/empty",
      "ls -l tree",
      "df",
    ];
    await writeFile(
      script,
      [...lines, "mkdir new", "rm tree/empty", "rmdir new", `get tree/short ${dir}/short`, "rm tree/short", `get -r tree ${dir}/batched`, "bye"].join(
        "\n",
      ),
    );
    const printed = await stock("sftp", "-F", config, "-b", script, host);
    expect(printed).toMatch(/-rw------- .*empty/);
    expect(printed).toMatch(/%Capacity/);
    expect((await readFile(join(dir, "short"))).equals(big)).toBe(true);
    expect((await readFile(join(dir, "batched/bigger"))).equals(big)).toBe(true);
  });

  /** What runs in ssh's place, and the host as it knows it. */
  const ways = [
    ["stock", () => `ssh -F ${config}`, host],
    ["tsh", () => "tsh ssh", `${login}@web-1`],
  ] as const;

  test.skipIf(!hasProgram("rsync")).for(ways)("rsync with %s ssh", async ([name, ssh, there]) => {
    const place = await fresh(`rsync-${name}`);
    await stock("rsync", "-a", "-e", ssh(), `${dir}/tree/`, `${there}:${place}/`);
    expect(await shape(place, "%P %y %m %l")).toBe(await shape(join(dir, "tree"), "%P %y %m %l"));
    await stock("rsync", "-a", "--checksum", "-e", `${ssh()} -p 22 -o ServerAliveInterval=5`, `${there}:${place}/`, `${dir}/rsynced-${name}/`);
    expect(await shape(join(dir, `rsynced-${name}`))).toBe(await shape(join(dir, "tree")));
  });

  test.skipIf(!hasProgram("git")).for(ways)("git clone and push with %s ssh", async ([name, ssh, there]) => {
    const place = await fresh(`git-${name}`);
    await stock("sh", "-c", `${ssh()} ${there} git init -q --bare ${place}/repo.git`);
    const work = join(dir, `work-${name}`);
    const git = (...args: string[]) => stock("git", "-c", `core.sshCommand=${ssh()}`, ...args);
    // With a port git passes options that only ssh has.
    await git("clone", "-q", `ssh://${there}:22${place}/repo.git`, work);
    await writeFile(join(work, "big"), big);
    await stock("git", "-C", work, "add", "big");
    await stock("git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "big");
    await git("-C", work, "push", "-q", "origin", "HEAD:refs/heads/main");
    await git("clone", "-q", "-b", "main", `${there}:${place}/repo.git`, join(dir, `again-${name}`));
    expect((await readFile(join(dir, `again-${name}/big`))).equals(big)).toBe(true);
  });

  test.skipIf(!root || !hasProgram("sshfs")).for(ways)("sshfs with %s ssh", async ([name, ssh, there], context) => {
    const mount = join(dir, `mount-${name}`);
    await mkdir(mount);
    const place = await fresh(`sshfs-${name}`);
    const mounted = await run("sshfs", ["-o", `ssh_command=${ssh()}`, `${there}:${place}`, mount], { env: env(), limitMs: 30_000 });
    // A container without /dev/fuse has sshfs and cannot mount: that says nothing of ours. Anything else fails below.
    if (/fuse: (device not found|mount failed|failed to open)/.test(mounted.stderr)) context.skip(mounted.stderr);
    expect(mounted, mounted.stderr).toMatchObject({ status: 0 });
    try {
      await output("cp", ["-r", join(dir, "tree"), mount]);
      await output("mv", [join(mount, "tree/big"), join(mount, "tree/moved")]);
      expect((await readFile(join(mount, "tree/moved"))).equals(big)).toBe(true);
      expect((await readFile(join(place, "tree/moved"))).equals(big)).toBe(true);
    } finally {
      await output("umount", [mount]);
    }
  });

  test("a role that forbids copying is reported clearly, by every client", async () => {
    const role =
      "kind: role\nversion: v7\nmetadata:\n  name: no-copies\nspec:\n  options:\n    ssh_file_copy: false\n  allow:\n    logins: ['{{internal.logins}}']\n    node_labels: {'*': '*'}\n";
    const file = join(dir, "role.yaml");
    await writeFile(file, role);
    await cluster.admin("create", file);
    const bob = await cluster.user("bob", { logins: login, roles: "no-copies" });
    const words = /a role forbids copying files \(ssh_file_copy: false\)/;
    const source = join(dir, "tree/empty");
    const bobs = join(dir, "bobs-config");
    await writeFile(bobs, (await bob.tsh(["config"])).stdout);
    const own = await bob.tsh(["scp", source, `${login}@web-1:${far}/no`]);
    expect(own.status).toBe(4);
    expect(own.stderr).toMatch(words);
    for (const more of [[], ["-O"]]) {
      const done = await run("scp", ["-F", bobs, ...more, source, `${host}:${far}/no`], { env: { ...env(), TSH_HOME: bob.home }, limitMs: 30_000 });
      expect(done.status).not.toBe(0);
      expect(done.stderr).toMatch(words);
    }
    expect(await bob.tsh(["ssh", `${login}@web-1`, "echo a shell is allowed"])).toMatchObject({ status: 0, stdout: "a shell is allowed\n" });
  });

  test("the audit log has the actions, and their totals", async () => {
    const listed = await cluster.admin("audit", "ls", "--format=json");
    for (const code of [
      "T3001I",
      "T3001E",
      "TS001I",
      "TS001E",
      "TS012I",
      "TS016I",
      "TS018I",
      "TS021I",
      "T3002E",
      "T3004I",
      "T3005I",
      "T3005E",
      "T2006I",
    ])
      expect(listed).toContain(`"${code}"`);
  });
});
