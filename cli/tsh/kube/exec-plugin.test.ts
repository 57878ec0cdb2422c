import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import { decodeExecFile, encodeExecFile, execCredential } from "../../profile/exec-credential.ts";
import type { TlsCredentials } from "../../profile/profile.ts";
import { certificatesFolder } from "../../profile/profile-folder.ts";
import { certificatePaths } from "../../profile/resource-certificates.ts";
import { execPlugin, type PluginFacts } from "./exec-plugin.ts";

const proxy = { host: "fd00::7", port: 443 };
/** A name that a shell, YAML or a folder could take apart. */
const kube = 'it\'s "a" $(prod)\n`x` ; ../%';
const shells = ["dash", "bash", "busybox"].filter((name) => existsSync(join("/bin", name)));
const info = (version: string): string => JSON.stringify({ kind: "ExecCredential", apiVersion: `client.authentication.k8s.io/${version}`, spec: {} });

const root = await mkdtemp(join(tmpdir(), "platform-exec-plugin-"));
afterAll(() => rm(root, { recursive: true }));

let fresh: TlsCredentials;
let expired: TlsCredentials;
beforeAll(async () => {
  const authorities = await insideAuthorities();
  const issued = async (validBefore: Date): Promise<TlsCredentials> => {
    const { tlsCertificate, tlsPrivateKey } = await authorities.user("alice", { route: { kind: "kube", name: kube }, validBefore });
    return { certificate: tlsCertificate, privateKey: tlsPrivateKey };
  };
  const second = Math.floor(Date.now() / 1000) * 1000;
  [fresh, expired] = [await issued(new Date(second + 3_600_000)), await issued(new Date(second - 1000))];
});

/** Stands for tsh: it prints the arguments that it gets, each in brackets. */
const standIn = join(root, "a tsh's $HOME\n\"");
beforeAll(async () => {
  for (const shell of shells) {
    await mkdir(join(root, shell));
    await symlink(join("/bin", shell), join(root, shell, "sh"));
  }
  await writeFile(standIn, `#!/bin/sh\nprintf '[%s]' "$@"; printf '%s' "$TSH_HOME" >&2\n`, { mode: 0o700 });
});

let count = 0;
let home = "";
beforeEach(async () => {
  count += 1;
  home = join(root, `${count} $(touch ${root}/ran) '"\n*`);
  await mkdir(dirname(fileIn(home)), { recursive: true });
});

function fileIn(place: string): string {
  return join(certificatesFolder(place, proxy), certificatePaths({ kind: "kube", name: kube }).exec);
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

interface Run {
  /** Name of a program that is a shell when it is called `sh`. */
  readonly shell: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly facts?: Partial<PluginFacts>;
}

/** Runs what the kubeconfig says, as kubectl does. */
async function runPlugin({ shell, env = {}, facts = {} }: Run): Promise<Printed> {
  const plugin = execPlugin(kube, { cluster: "example.com", proxy, command: [standIn, "own word"], tshHome: home, shell: "/bin/sh", ...facts });
  const { args, env: own } = plugin as {
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string; readonly value: string }[] | null;
  };
  const all = { PATH: "/usr/bin:/bin", ...env, ...Object.fromEntries((own ?? []).map(({ name, value }) => [name, value])) };
  return await new Promise((resolve) => {
    const child = execFile(join(root, shell, "sh"), args, { env: all }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, status: Number(error?.code ?? 0) }),
    );
    child.stdin?.end();
  });
}

/** What tsh gets, where the shell has no answer. */
const toTsh = `[own word][kube][credentials][--kube-cluster=${kube}][--platform-cluster=example.com][--proxy=[fd00::7]:443]`;
const answered = (): Printed => ({ stdout: `${execCredential(fresh)}\n`, stderr: "", status: 0 });

test("at least dash, which is Debian's /bin/sh, is tried", () => expect(shells).toContain("dash"));

test("without a shell, tsh is started as ever", () => {
  const plugin = execPlugin("prod", { cluster: "example.com", proxy, command: ["/usr/bin/tsh", "x"], tshHome: undefined, shell: undefined });
  expect(plugin).toEqual({
    apiVersion: "client.authentication.k8s.io/v1beta1",
    command: "/usr/bin/tsh",
    args: ["x", "kube", "credentials", "--kube-cluster=prod", "--platform-cluster=example.com", "--proxy=[fd00::7]:443"],
    env: null,
  });
});

describe.each(shells)("the shell %s", (shell) => {
  test("prints a kept answer, and starts nothing in odd names", async () => {
    await writeFile(fileIn(home), encodeExecFile(fresh));
    expect(await runPlugin({ shell })).toEqual(answered());
    expect(await runPlugin({ shell, env: { KUBERNETES_EXEC_INFO: info("v1beta1") } })).toEqual(answered());
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("finds the place by TSH_HOME and HOME as tsh does", async () => {
    const below = join(home, ".tsh");
    await mkdir(dirname(fileIn(below)), { recursive: true });
    await writeFile(fileIn(below), encodeExecFile(fresh));
    const facts = { tshHome: undefined };
    expect(await runPlugin({ shell, facts, env: { HOME: home } })).toEqual(answered());
    expect(await runPlugin({ shell, facts, env: { HOME: home, TSH_HOME: "" } })).toEqual(answered());
    expect(await runPlugin({ shell, facts, env: { HOME: root, TSH_HOME: below } })).toEqual(answered());
    for (const env of [{ HOME: below }, { HOME: home, TSH_HOME: root }, { HOME: "" }, {}]) {
      expect(await runPlugin({ shell, facts, env })).toMatchObject({ stdout: toTsh, status: 0 });
    }
  });

  test.for<readonly [what: string, contents: () => string]>([
    ["an expired one", () => encodeExecFile(expired)],
    ["an empty file", () => ""],
    ["the time alone", () => `${encodeExecFile(fresh).split("\n")[0]}\n`],
    ["the answer alone", () => execCredential(fresh)],
    ["half a file", () => encodeExecFile(fresh).slice(0, 700)],
    ["a file without its last byte", () => encodeExecFile(fresh).slice(0, -1)],
    ["a file without the last bytes of its line", () => `${encodeExecFile(fresh).slice(0, -4)}\n`],
    ["another time", () => encodeExecFile(fresh).replace(/^\d+/, "soon")],
    ["no time", () => encodeExecFile(fresh).replace(/^\d+/, "")],
    ["a time below zero", () => encodeExecFile(fresh).replace(/^/, "-")],
    ["a program as its time", () => encodeExecFile(fresh).replace(/^\d+/, `a[$(touch ${root}/ran)]`)],
    ["something else", () => `${encodeExecFile(fresh).split("\n")[0]}\nerror\n`],
  ])("leaves %s to tsh, which does not use it either", async ([, contents]) => {
    await writeFile(fileIn(home), contents());
    expect(decodeExecFile(contents(), new Date())).toBeUndefined();
    expect(await runPlugin({ shell })).toEqual({ stdout: toTsh, stderr: home, status: 0 });
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("leaves a file that is not there, a folder, and a pipe that nobody writes to tsh", async () => {
    expect(await runPlugin({ shell })).toEqual({ stdout: toTsh, stderr: home, status: 0 });
    await mkdir(fileIn(home));
    expect(await runPlugin({ shell })).toEqual({ stdout: toTsh, stderr: home, status: 0 });
    await rm(fileIn(home), { recursive: true });
    await new Promise((resolve) => execFile("mkfifo", [fileIn(home)], resolve));
    expect(await runPlugin({ shell })).toEqual({ stdout: toTsh, stderr: home, status: 0 });
  });

  test.skipIf(process.getuid?.() === 0)("leaves a file that it cannot read to tsh", async () => {
    await writeFile(fileIn(home), encodeExecFile(fresh), { mode: 0 });
    expect(await runPlugin({ shell })).toEqual({ stdout: toTsh, stderr: home, status: 0 });
  });

  test("leaves another version of the answer to tsh", async () => {
    await writeFile(fileIn(home), encodeExecFile(fresh));
    for (const odd of [info("v1"), info("v1alpha1"), "{"]) {
      expect(await runPlugin({ shell, env: { KUBERNETES_EXEC_INFO: odd } })).toEqual({ stdout: toTsh, stderr: home, status: 0 });
    }
  });

  test.for<readonly [what: string, date: string | undefined]>([
    ["is missing", undefined],
    ["knows no %s", "echo %s"],
    ["fails", "exit 1"],
    ["has jumped beyond the end of the certificate", "echo 99999999999"],
  ])("leaves it to tsh where `date` %s", async ([, date]) => {
    const folder = join(root, `bin ${count}`);
    await mkdir(folder);
    if (date !== undefined) {
      await writeFile(join(folder, "date"), `#!/bin/sh\n${date}\n`);
      await chmod(join(folder, "date"), 0o700);
    }
    await writeFile(fileIn(home), encodeExecFile(fresh));
    // Busybox has a date of its own, which some builds prefer.
    const run = await runPlugin({ shell, env: { PATH: folder } });
    if (shell === "busybox" && run.stdout !== toTsh) expect(run).toEqual(answered());
    else expect(run).toEqual({ stdout: toTsh, stderr: home, status: 0 });
  });

  test("says what the system says when tsh is not there", async () => {
    expect(await runPlugin({ shell, facts: { command: [join(root, "gone")] } })).toMatchObject({
      status: 127,
      stdout: "",
      stderr: expect.stringContaining("gone"),
    });
  });
});
