import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryIo } from "../cli/memory-io.ts";
import { runTctl } from "../cli/tctl/tctl.ts";
import { runTsh } from "../cli/tsh/tsh.ts";
import { openTestAuth, type TestAuth } from "./inside/open-auth.ts";
import { hasProgram } from "./world/has-program.ts";
import { codeAt } from "./world/one-time-code.ts";

/** tctl and tsh against a real auth service through its TLS listener, which also stands where a proxy relays to it. */
describe("command lines against an auth service", () => {
  let t: TestAuth;
  let proxy = "";
  let env: Record<string, string> = {};
  let step = 0;
  beforeAll(async () => {
    t = await openTestAuth({ now: () => new Date(Date.now() + step * 30_000) });
    const { host, port } = await t.auth.listen({ host: "127.0.0.1", port: 0 });
    proxy = `${host}:${port}`;
    env = { TSH_HOME: join(t.dataDir, "tsh"), PLATFORM_DATA_DIR: t.dataDir };
  });
  afterAll(async () => {
    await t[Symbol.asyncDispose]();
  });

  async function run(program: typeof runTsh, argv: readonly string[], input = "", more: Record<string, string> = {}) {
    const io = memoryIo({ ...env, ...more }, input);
    return { status: await program(argv, io), out: io.out(), err: io.err() };
  }
  const tctl = (...argv: string[]) => run(runTctl, argv);
  const json = async (...argv: string[]): Promise<Record<string, unknown>> => JSON.parse((await tctl(...argv, "--format=json")).out);

  test("tctl status shows cluster, version and pin", async () => {
    const done = await tctl("status");
    expect(done).toMatchObject({ status: 0, err: "" });
    expect(done.out).toMatch(/^Cluster: +test\nVersion: +\S+\n/);
    expect(done.out).toMatch(new RegExp(`^CA pin: +${t.auth.caPin}$`, "m"));
    expect(await json("status")).toMatchObject({ cluster: "test", ca_pins: [t.auth.caPin] });
  });

  test("roles are created from a file, not twice, overwritten with -f, exported and removed", async () => {
    const role = "kind: role\nversion: v7\nmetadata: {name: ops}\nspec: {allow: {logins: [root], node_labels: {env: prod}}}\n";
    expect(await run(runTctl, ["create"], role)).toEqual({ status: 0, out: 'role "ops" has been created\n', err: "" });
    const again = await run(runTctl, ["create", "-"], role);
    expect(again.status).toBe(6);
    expect(again.err).toMatch(/^ERROR: standard input, line 1: role "ops": role.* already exists\noverwrite it with tctl create -f\n$/);
    const exported = await tctl("get", "role/ops");
    expect(exported.out).toMatch(/^kind: role\nversion: v7\n/);
    const changed = await run(runTctl, ["create", "-f"], exported.out.replace("env: prod", "env: test"));
    expect(changed).toMatchObject({ status: 0, out: 'role "ops" has been updated\n' });
    expect(await json("get", "role/ops")).toMatchObject({ spec: { allow: { node_labels: { env: "test" } } } });
    const stale = await run(runTctl, ["create", "-f"], exported.out);
    expect(stale.status).toBe(7);
    expect((await json("get", "roles")) as unknown).toHaveLength(4);
    expect((await tctl("rm", "role/ops")).out).toBe('role "ops" has been deleted\n');
    const gone = await tctl("get", "role/ops");
    expect(gone).toMatchObject({ status: 5, out: "" });
  });

  test("nothing of a file is sent when one document is wrong", async () => {
    const good = "kind: role\nversion: v7\nmetadata: {name: fine}\nspec: {}\n";
    const done = await run(runTctl, ["create"], `${good}---\nkind: role\nversion: v7\nmetadata: {name: bad}\nspec: {alow: {}}\n`);
    expect(done.status).toBe(2);
    expect(done.err).toContain("line 9: spec.alow: ");
    expect((await tctl("get", "role/fine")).status).toBe(5);
  });

  test("join tokens are shown once, listed without their secret, and removed", async () => {
    const made = await json("tokens", "add", "--type=Node", "--ttl=1h", "--uses=2");
    expect(made.secret).toMatch(/^[0-9a-f]{64}$/);
    expect(made.config).toContain(`ca_pin: ${t.auth.caPin}`);
    const listed = await tctl("tokens", "ls");
    expect(listed.out).toMatch(new RegExp(`^${String(made.id)} node +2 +\\S+ \\(in (1h\\dm|59m)`, "m"));
    expect(listed.out).not.toContain(String(made.secret));
    const own = await run(runTctl, ["tokens", "add", "--type=node", "--value=-", "--format=json"], "a-secret-of-my-own-1234\n");
    expect(JSON.parse(own.out)).toMatchObject({ secret: "a-secret-of-my-own-1234" });
    const audited = (await tctl("audit", "ls", "--event=join_token.create", "--format=json")).out;
    expect(audited).toContain(String(made.id));
    expect(audited).not.toMatch(new RegExp(`a-secret-of-my-own|${String(made.secret)}`));
    expect((await tctl("tokens", "rm", String(made.id))).status).toBe(0);
    expect((await tctl("tokens", "rm", String(made.id))).status).toBe(5);
  });

  test("a user is added, invited, logs in, is listed, changed, reset, removed and logs out; the audit log has all of it", async () => {
    const added = await tctl("users", "add", "bob", "--roles=access,editor", "--logins=root,ubuntu", "--proxy=p.example.com:443");
    const token = /https:\/\/p\.example\.com\/web\/invite\/([0-9a-f]+)\n$/.exec(added.out)?.[1] ?? "";
    expect(added).toMatchObject({ status: 0, err: "" });
    const { otpauthUri } = await t.connect().getInvite({ token });
    const code = () => codeAt(otpauthUri, new Date(Date.now() + step * 30_000));
    await t.connect().acceptInvite({ token, password: "correct horse bob", code: code() });
    step += 2;
    expect((await tctl("users", "ls")).out).toMatch(/^bob +access,editor root,ubuntu active +0$/m);

    const wrong = await run(runTsh, ["login", `--proxy=${proxy}`, "--user=bob", `--ca-pin=sha256:${"0".repeat(64)}`], "x\n1\n");
    expect(wrong.status).toBe(3);
    expect(wrong.err).toMatch(/does not match the CA pin\n.*tctl status/);
    const refused = await run(runTsh, ["login", `--proxy=${proxy}`, "--user=bob", `--ca-pin=${t.auth.caPin}`], "wrong password\n123456\n");
    expect(refused).toMatchObject({ status: 3, out: "" });
    const login = await run(
      runTsh,
      ["login", `--proxy=${proxy}`, "--user=bob", `--ca-pin=${t.auth.caPin}`, "--ttl=1h"],
      `correct horse bob\n${code()}\n`,
    );
    expect(login).toMatchObject({ status: 0, err: "" });
    expect(login.out).toMatch(/Logged in as: +bob\n.*\n +Roles: +access, editor\n +Logins: +root, ubuntu\n/);
    step += 2;

    const status = await run(runTsh, ["status", "-f", "json"]);
    expect(JSON.parse(status.out)).toMatchObject({
      active: { username: "bob", roles: ["access", "editor"], cluster: "test", profile_url: `https://${proxy}` },
    });
    expect(await run(runTsh, ["ls"])).toMatchObject({ status: 0, out: "Node Name Address Labels\n--------- ------- ------\n" });
    // Elsewhere than on the auth host, tctl is bob.
    const remote = await run(runTctl, ["status"], "", { PLATFORM_DATA_DIR: "/nonexistent" });
    expect(remote.out).toContain(`through the proxy ${proxy}, as bob`);

    expect((await tctl("users", "update", "bob", "--set-roles=auditor")).out).toBe("User bob has been updated: roles auditor; logins root, ubuntu\n");
    expect(await json("get", "user/bob")).toMatchObject({ spec: { roles: ["auditor"], traits: { logins: ["root", "ubuntu"] } } });
    const twice = await tctl("users", "add", "bob", "--roles=access");
    expect(twice).toMatchObject({
      status: 6,
      err: expect.stringMatching(/change it with: tctl users update bob; make another link with: tctl users reset bob/),
    });
    const mistyped = await tctl("lock", "--user=bbo", "--ttl=1h");
    expect(mistyped).toMatchObject({
      status: 0,
      err: "WARNING: there is no user bbo now; if the name is mistyped, the lock shuts nobody out: see tctl users ls\n",
    });
    expect(await tctl("lock", "--role=editor", "--ttl=1h")).toMatchObject({ status: 0, err: "" });
    expect(await tctl("get", "db")).toEqual({
      status: 0,
      out: "",
      err: "The cluster has none of the kind db; tctl db ls lists those of agents' files too.\n",
    });
    const reset = await tctl("users", "reset", "bob");
    expect(reset.out).toMatch(/were reset\. This link works once, for 1h.*\nhttps:\/\/<proxy>\/web\/invite\//);
    expect(reset.err).toMatch(/stay valid until they expire, at the latest at \d{4}-.*Z\. To shut bob out at once: tctl lock --user=bob\n/);
    const secrets = await tctl("get", "user/bob", "--with-secrets");
    expect(secrets).toMatchObject({
      status: 0,
      out: (await tctl("get", "user/bob")).out,
      err: expect.stringContaining("Resources of this kind contain no secret"),
    });
    expect(await tctl("get", "github/github", "--with-secrets")).toMatchObject({
      out: "",
      err: expect.stringContaining("github connectors are not supported"),
    });
    // One way to remove a user, by whatever words.
    const shutOut = expect.stringMatching(/all certificates of bob are refused from now on: lock removed-user-[0-9a-f]{32},/);
    expect(await tctl("users", "rm", "bob")).toMatchObject({ out: "User bob has been deleted.\n", err: shutOut });
    expect((await tctl("users", "add", "bob", "--roles=access")).status).toBe(0);
    expect(await tctl("rm", "user/bob")).toMatchObject({ out: 'user "bob" has been deleted\n', err: shutOut });
    expect((await tctl("users", "rm", "bob")).status).toBe(5);

    if (hasProgram("ssh-keygen")) expectReadableFiles();
    expect(await run(runTsh, ["logout"])).toEqual({ status: 0, out: `Logged out of ${proxy}.\n`, err: "" });
    expect(readdirSync(env.TSH_HOME ?? "")).toEqual([]);
    expect((await run(runTsh, ["status"])).status).toBe(3);

    const events = (await tctl("audit", "ls", "--user=bob", "--format=json")).out;
    for (const event of ["user.create", "user.login", "user.delete"]) {
      expect((await tctl("audit", "ls", `--event=${event}`, "--format=json")).out, event).toContain('"bob"');
    }
    expect(events).not.toContain("correct horse");
    const refusals = await tctl("audit", "ls", "--event=user.login", "--user=bob", "--limit=2");
    expect(refusals.out).toMatch(/user\.login bob +REFUSED .*error="wrong/);
    expect(refusals.out.trim().split("\n")).toHaveLength(4);
  });

  /** The files of the login are what ssh-keygen reads. */
  function expectReadableFiles(): void {
    const folder = join(env.TSH_HOME ?? "", proxy.replace(":", "_"));
    const shown = spawnSync("ssh-keygen", ["-L", "-f", join(folder, "id-cert.pub")], { encoding: "utf8" });
    expect(shown.stdout).toMatch(/user certificate[\s\S]*Key ID: "bob"[\s\S]*root\n +ubuntu/);
    const open = spawnSync("ssh-keygen", ["-y", "-f", join(folder, "id")], { encoding: "utf8" });
    expect(readFileSync(join(folder, "id.pub"), "utf8").startsWith(open.stdout.trim())).toBe(true);
    const known = spawnSync("ssh-keygen", ["-F", "web-1.test", "-f", join(folder, "known_hosts")], { encoding: "utf8" });
    expect(known.status).toBe(0);
  }

  test.for([
    ["host", /^@cert-authority \*\.test ssh-ed25519 \S+ test\n$/],
    ["user", /^ssh-ed25519 \S+ test-user-ca\n$/],
    ["tls-host", /^-----BEGIN CERTIFICATE-----\n/],
    ["tls-user", /^-----BEGIN CERTIFICATE-----\n/],
  ] as const)("auth export --type=%s", async ([type, expected]) => {
    expect((await tctl("auth", "export", `--type=${type}`)).out).toMatch(expected);
  });

  test("an auth service that is not there is said with where it was looked for", async () => {
    const admin = JSON.parse(readFileSync(join(t.dataDir, "auth", "admin.json"), "utf8")) as Record<string, unknown>;
    const elsewhere = join(t.dataDir, "elsewhere");
    mkdirSync(join(elsewhere, "auth"), { recursive: true });
    writeFileSync(join(elsewhere, "auth", "admin.json"), JSON.stringify({ ...admin, address: "127.0.0.1:1" }));
    const done = await tctl("status", `--data-dir=${elsewhere}`);
    expect(done.status).toBe(9);
    expect(done.err).toMatch(/^ERROR: .*connection refused.*admin\.json\)\n/);
  });
});
