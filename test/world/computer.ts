import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Finished, run } from "./program.ts";

export interface ComputerOptions {
  /** Name → address, for its /etc/hosts. */
  readonly hosts: Readonly<Record<string, string>>;
  /** More authorities (PEM) that it trusts. */
  readonly ca: readonly string[];
  /** A network namespace to be in; default: that of this host. */
  readonly netns?: string;
}

/** A person's computer: the programs of this host, with a home, names and trusted authorities of its own. Needs root. */
export interface Computer extends AsyncDisposable {
  /** Where its home lies here; it sees it as that of root. */
  readonly home: string;
  /** Runs lines of a shell. */
  run(
    lines: string,
    options?: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>>; readonly limitMs?: number },
  ): Promise<Finished>;
}

const bundle = "/etc/ssl/certs/ca-certificates.crt";
/** ssh asks the system for the home, and not HOME. Agents of gpg have their sockets in /run/user where that is there. */
const setup = `mount --bind "$1/home" "$2"; mount --bind "$1/hosts" /etc/hosts; mount --bind "$1/bundle" ${bundle}
[ ! -d /run/user ] || mount -t tmpfs tmpfs /run/user
exec sh -e`;

export async function openComputer({ hosts, ca, netns }: ComputerOptions): Promise<Computer> {
  const dir = await mkdtemp(join(tmpdir(), "platform-computer-"));
  const [home, own] = [join(dir, "home"), userInfo().homedir];
  await mkdir(home, { mode: 0o700 });
  await writeFile(
    join(dir, "hosts"),
    `127.0.0.1 localhost\n${Object.entries(hosts)
      .map(([name, address]) => `${address} ${name}\n`)
      .join("")}`,
  );
  await writeFile(join(dir, "bundle"), [await readFile(bundle, "utf8"), ...ca].join("\n"));
  const computer: Computer = {
    home,
    run: (lines, { cwd = own, env = {}, limitMs = 180_000 } = {}) =>
      run("unshare", ["--mount", "sh", "-e", "-c", setup, "sh", dir, own], {
        netns,
        limitMs,
        env: { HOME: own, ...env },
        input: `cd ${cwd}\n${lines}`,
      }),
    [Symbol.asyncDispose]: async () => {
      await computer.run("gpgconf --kill all");
      await rm(dir, { recursive: true, force: true });
    },
  };
  return computer;
}
