import { randomBytes } from "node:crypto";
import { mkdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeTree, shape } from "../world/copied-tree.ts";
import { type CopyHost, openCopyHost } from "../world/copy-host.ts";
import { hasProgram } from "../world/has-program.ts";
import { output, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";

const root = userInfo().uid === 0;

/** Files go to and from a host: with `tsh scp`, and with the programs that people have, through the stanza of `tsh config`. */
describe("copying files", () => {
  let world: CopyHost;
  let dir: string;
  let far: string;
  const big = randomBytes(5_000_000);
  beforeAll(async () => {
    world = await openCopyHost();
    ({ dir, far } = world);
    await makeTree(join(dir, "tree"), big);
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  /** The host as tsh and as stock ssh name it. */
  const host = (): string => `${world.login}@web-1`;
  const stockHost = (): string => `${host()}.test.cluster`;
  const scp = (...args: string[]) => world.alice.tsh(["scp", ...args], { limitMs: 60_000 });

  test("tsh scp -r -p takes a tree there and back", async () => {
    const place = await world.fresh("tsh");
    const up = await scp("-r", "-p", join(dir, "tree"), `${host()}:${place}`);
    expect(up, up.stderr).toMatchObject({ status: 0, stdout: "", stderr: "" });
    // Links are followed.
    await output("cp", ["-rLp", join(dir, "tree"), join(dir, "want")]);
    expect(await shape(join(place, "tree"))).toBe(await shape(join(dir, "want")));
    expect((await stat(join(place, "tree/sub"))).mtimeMs).toBe(1_100_000_000_000);
    if (root) expect((await stat(join(place, "tree/big"))).uid).not.toBe(0);
    const down = await scp("-rp", `${host()}:${place}/tree`, join(dir, "back"));
    expect(down, down.stderr).toMatchObject({ status: 0, stderr: "" });
    expect(await shape(join(dir, "back"), "%P %y %m %Ts")).toBe(await shape(join(dir, "want"), "%P %y %m %Ts"));
  });

  test("tsh scp finds patterns, the home and several sources", async () => {
    const place = await world.fresh("globs");
    const done = await scp(join(dir, "tree/empty"), join(dir, "tree/big"), `${host()}:${place}/`);
    expect(done.stderr).toBe("");
    await mkdir(join(dir, "found"));
    expect(await scp(`${host()}:${place}/[be]*`, join(dir, "found"))).toMatchObject({ status: 0, stderr: "" });
    expect((await output("ls", [join(dir, "found")])).trim().split("\n")).toEqual(["big", "empty"]);
    if (!root) return;
    expect(await scp(join(dir, "tree/empty"), `${host()}:`)).toMatchObject({ status: 0, stderr: "" });
    expect(await scp(`${host()}:~/empty`, join(dir, "home-file"))).toMatchObject({ status: 0, stderr: "" });
    expect((await stat(`/home/${world.login}/empty`)).size).toBe(0);
  });

  test("tsh scp continues an interrupted copy, and starts again when the file there is a different one", async () => {
    const place = await world.fresh("resume");
    const source = join(dir, "tree/big");
    const target = join(place, "big");
    const copy = async (): Promise<void> => {
      const done = await scp(source, `${host()}:${target}`);
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
    expect(await scp(`${host()}:${target}`, back)).toMatchObject({ status: 0, stderr: "" });
    expect((await readFile(back)).equals(big)).toBe(true);
  });

  test.for<readonly [name: string, args: () => string[], status: number, words: RegExp]>([
    ["no such remote file", () => [`${host()}:/no/such/file`, dir], 5, /\/no\/such\/file: No such file or directory/],
    ["no such local file", () => [join(dir, "nowhere"), `${host()}:${far}`], 5, /nowhere: No such file or directory/],
    [
      "no such folder there",
      () => [join(dir, "tree/empty"), `${host()}:/no/such/folder/x`],
      5,
      /empty: could not write \/no\/such\/folder\/x: No such/,
    ],
    ["no such folder here", () => [`${host()}:/etc/hostname`, "/no/such/x"], 5, /hostname: could not write \/no\/such\/x: No such file/],
    ["a folder without -r", () => [join(dir, "tree"), `${host()}:${far}`], 2, /tree: this is a folder\ncopy folders with -r/],
    ["several into a file", () => [join(dir, "tree/empty"), join(dir, "config"), `${host()}:${far}/none`], 5, /is not a folder/],
    ["from host to host", () => ["web-1:a", "web-2:b"], 2, /copying from host to host is not supported/],
    ["nothing remote", () => ["a", "b"], 2, /neither the source nor the target is a host/],
    ["a full disk", () => [join(dir, "tree/big"), `${host()}:/dev/full`], 7, /No space left on device/],
  ])("tsh scp says what is wrong: %s", async ([, args, status, words]) => {
    const done = await scp(...args());
    expect(done.stderr).toMatch(words);
    expect(done.status).toBe(status);
  });

  test("a FIFO without a writer or reader is refused at once on both sides", async () => {
    const fifo = join(dir, "fifo");
    await output("mkfifo", [fifo]);
    expect(await scp(fifo, `${host()}:${far}/fifo`)).toMatchObject({ status: 2, stderr: expect.stringContaining("fifo: not a regular file") });
    expect(await scp(`${host()}:/etc/hostname`, fifo)).toMatchObject({ status: 2, stderr: expect.stringContaining("not a regular file") });
  });

  test("a name that is not UTF-8 is given as it is", async () => {
    const place = await world.fresh("bytes");
    const script = `name=$(printf 'gr\\374n'); cd "$1"; echo raw > "$name"; tsh scp "$name" "$2" && tsh scp "$2/$name" bytes-back && cat bytes-back`;
    const done = await run("bash", ["-c", script, "bash", dir, `${host()}:${place}`], { env: world.env() });
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "raw\n" });
    expect((await run("ls", [place], { env: world.env() })).raw.toString("latin1")).toBe("gr\xfcn\n");
  });

  test.skipIf(!root)("SFTP gives no more access than the Unix user has", async () => {
    const read = await scp(`${host()}:/etc/shadow`, join(dir, "shadow"));
    expect(read).toMatchObject({ status: 4, stderr: expect.stringContaining("/etc/shadow: Permission denied") });
    const written = await scp(join(dir, "tree/empty"), `${host()}:${far}/../../../../../etc/platform-was-here`);
    expect(written).toMatchObject({ status: 4, stderr: expect.stringContaining("Permission denied") });
    // The serving process itself: a file of no size, which is read to its end.
    expect(await scp(`${host()}:/proc/self/status`, join(dir, "status"))).toMatchObject({ status: 0, stderr: "" });
    const uid = (await output("id", ["-u", world.login])).trim();
    expect(await readFile(join(dir, "status"), "utf8")).toMatch(new RegExp(`Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s+${uid}\n`));
  });

  test("stock scp, over SFTP and over its old protocol", async () => {
    for (const [name, ...more] of [["scp"], ["scp-old", "-O"]] as const) {
      const place = await world.fresh(name);
      await world.stock("scp", "-F", world.config, ...more, "-r", "-p", join(dir, "tree"), `${stockHost()}:${place}`);
      await world.stock("scp", "-F", world.config, ...more, "-r", "-p", `${stockHost()}:${place}/tree`, join(dir, `back-${name}`));
      expect(await shape(join(dir, `back-${name}`), "%P %y %m %Ts")).toBe(await shape(join(dir, "want"), "%P %y %m %Ts"));
    }
  });

  test("stock sftp in batch mode", async () => {
    const place = await world.fresh("batch");
    const script = join(dir, "batch");
    const lines = [
      `cd ${place}`,
      `put -r ${dir}/tree .`,
      "rename tree/big tree/bigger",
      "ln -s bigger tree/short",
      "chmod 600 tree/empty",
      "ls -l tree",
      "df",
      "mkdir new",
      "rm tree/empty",
      "rmdir new",
      `get tree/short ${dir}/short`,
      "rm tree/short",
      `get -r tree ${dir}/batched`,
      "bye",
    ];
    await writeFile(script, lines.join("\n"));
    const printed = await world.stock("sftp", "-F", world.config, "-b", script, stockHost());
    expect(printed).toMatch(/-rw------- .*empty/);
    expect(printed).toMatch(/%Capacity/);
    expect((await readFile(join(dir, "short"))).equals(big)).toBe(true);
    expect((await readFile(join(dir, "batched/bigger"))).equals(big)).toBe(true);
  });

  /** What runs in ssh's place, and the host as it knows it. */
  const ways = [
    ["stock", () => `ssh -F ${world.config}`, stockHost],
    ["tsh", () => "tsh ssh", host],
  ] as const;

  test.skipIf(!hasProgram("rsync")).for(ways)("rsync with %s ssh", async ([name, ssh, hostName]) => {
    const place = await world.fresh(`rsync-${name}`);
    await world.stock("rsync", "-a", "-e", ssh(), `${dir}/tree/`, `${hostName()}:${place}/`);
    expect(await shape(place, "%P %y %m %l")).toBe(await shape(join(dir, "tree"), "%P %y %m %l"));
    await world.stock(
      "rsync",
      "-a",
      "--checksum",
      "-e",
      `${ssh()} -p 22 -o ServerAliveInterval=5`,
      `${hostName()}:${place}/`,
      `${dir}/rsynced-${name}/`,
    );
    expect(await shape(join(dir, `rsynced-${name}`))).toBe(await shape(join(dir, "tree")));
  });

  test.skipIf(!hasProgram("git")).for(ways)("git clone and push with %s ssh", async ([name, ssh, hostName]) => {
    const place = await world.fresh(`git-${name}`);
    await world.stock("sh", "-c", `${ssh()} ${hostName()} git init -q --bare ${place}/repo.git`);
    const work = join(dir, `work-${name}`);
    const git = (...args: string[]) => world.stock("git", "-c", `core.sshCommand=${ssh()}`, ...args);
    // With a port git passes options that only ssh has.
    await git("clone", "-q", `ssh://${hostName()}:22${place}/repo.git`, work);
    await writeFile(join(work, "big"), big);
    await world.stock("git", "-C", work, "add", "big");
    await world.stock("git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "big");
    await git("-C", work, "push", "-q", "origin", "HEAD:refs/heads/main");
    await git("clone", "-q", "-b", "main", `${hostName()}:${place}/repo.git`, join(dir, `again-${name}`));
    expect((await readFile(join(dir, `again-${name}/big`))).equals(big)).toBe(true);
  });

  test.skipIf(!root || !hasProgram("sshfs")).for(ways)("sshfs with %s ssh", async ([name, ssh, hostName], context) => {
    const mount = join(dir, `mount-${name}`);
    await mkdir(mount);
    const place = await world.fresh(`sshfs-${name}`);
    const mounted = await run("sshfs", ["-o", `ssh_command=${ssh()}`, `${hostName()}:${place}`, mount], { env: world.env(), limitMs: 30_000 });
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
    const allow = { logins: ["{{internal.logins}}"], node_labels: { "*": "*" } };
    await putRole(world.cluster, "no-copies", { options: { ssh_file_copy: false }, allow });
    const bob = await world.cluster.user("bob", { logins: world.login, roles: "no-copies" });
    const words = /a role forbids copying files \(ssh_file_copy: false\)/;
    const source = join(dir, "tree/empty");
    const bobs = join(dir, "bobs-config");
    await writeFile(bobs, (await bob.tsh(["config"])).stdout);
    const own = await bob.tsh(["scp", source, `${host()}:${far}/no`]);
    expect(own.status).toBe(4);
    expect(own.stderr).toMatch(words);
    for (const more of [[], ["-O"]]) {
      const done = await run("scp", ["-F", bobs, ...more, source, `${stockHost()}:${far}/no`], {
        env: { ...world.env(), TSH_HOME: bob.home },
        limitMs: 30_000,
      });
      expect(done.status).not.toBe(0);
      expect(done.stderr).toMatch(words);
    }
    expect(await bob.tsh(["ssh", host(), "echo a shell is allowed"])).toMatchObject({ status: 0, stdout: "a shell is allowed\n" });
  });

  test("the audit log has the actions, and their totals", async () => {
    const listed = await world.cluster.admin("audit", "ls", "--format=json");
    const codes = "T3001I T3001E TS001I TS001E TS012I TS016I TS018I TS021I T3002E T3004I T3005I T3005E T2006I";
    for (const code of codes.split(" ")) expect(listed).toContain(`"${code}"`);
  });
});
