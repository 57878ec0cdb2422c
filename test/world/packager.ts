import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageWorld } from "./package-world.ts";
import { root } from "./package-world-sources.ts";
import { type Finished, output, run } from "./program.ts";

/**
 * The machine that packages are made on, and what it copies to a server: README's own commands run here. Stand-ins: `make packages` takes
 * what `packageWorld` has built, in both versions; `ssh` and `scp` write into folders that the server has mounted. gpg, `make
 * repository`, `make publish` and rsync are the real ones, with a home and a dist folder of their own.
 */
export interface Packager extends AsyncDisposable {
  /** What the server has as `/srv/platform`, and as the home of root. */
  readonly srv: string;
  readonly home: string;
  /** Runs commands as they stand in README. */
  follow(block: string): Promise<Finished>;
}

export async function openPackager(): Promise<Packager> {
  const world = await packageWorld();
  const dir = await mkdtemp(join(tmpdir(), "platform-packager-"));
  const [bin, srv, home, own] = ["bin", "srv", "remote-home", "home"].map((name) => join(dir, name)) as [string, string, string, string];
  for (const folder of [bin, srv, home]) await mkdir(folder);
  await mkdir(own, { mode: 0o700 });
  const programs = { make: make(world.packages, dir), ssh: ssh(srv), scp: scp(dir, home) };
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  }
  const env = { PATH: `${bin}:${process.env.PATH ?? ""}`, HOME: own };
  return {
    srv,
    home,
    follow: (block) => run("sh", ["-e"], { cwd: root, env, input: block, limitMs: 180_000 }),
    [Symbol.asyncDispose]: async () => {
      await output("gpgconf", ["--homedir", join(own, ".gnupg"), "--kill", "all"]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function make(packages: string, dir: string): string {
  return `#!/bin/sh -e
if [ "$1" != packages ]; then exec /usr/bin/make "$@" PACKAGES=${dir}/dist/packages OUT=${dir}/dist/repository; fi
version=1.0.0
for word; do case $word in VERSION=*) version=\${word#*=} ;; esac; done
mkdir -p ${dir}/dist/packages
cp ${packages}/*[_-]"$version"[_-]* ${dir}/dist/packages/
exec ${process.execPath} scripts/client.ts --version "$version" --out ${dir}/dist/packages
`;
}

/** Runs what is asked of the other machine here, with its folder in place of /srv/platform. */
function ssh(srv: string): string {
  return `#!/bin/sh -e
while [ "$1" = -l ]; do shift 2; done
shift
exec sh -c "$(printf '%s' "$*" | sed 's#/srv/platform#${srv}#g')"
`;
}

function scp(dir: string, home: string): string {
  return `#!/bin/sh -e
case $2 in *:) exec cp "${dir}/$1" ${home}/ ;; esac
exit 2
`;
}
