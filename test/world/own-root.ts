import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { machineLayers } from "./machine-layers.ts";
import { dist, type Finished, output, type RunOptions, run } from "./program.ts";
import { type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** A Debian of its own without an init: own files, users and processes, the network of this machine. */
export interface OwnRoot extends AsyncDisposable {
  /** Where the tests may put files that both see under the same path. */
  readonly shared: string;
  /** An executable of this machine that runs `platform` in there. Its pid is not the program's. */
  readonly platform: string;
  run(command: readonly string[], options?: RunOptions): Promise<Finished>;
  start(command: readonly string[]): Service;
  /** Standard output of a shell's line, which must succeed. */
  sh(line: string): Promise<string>;
}

const project = resolve(import.meta.dirname, "../..");

/** The mounts end with their namespace, and that with its first process. */
const setup = `
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mount -t proc proc proc
mount -t tmpfs tmpfs dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
chmod 1777 tmp
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,gid=5,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
for one in null zero full random urandom tty; do touch "dev/$one"; mount --bind "/dev/$one" "dev/$one"; done
echo "127.0.0.1 localhost $(uname -n)" >etc/hosts
: >run/utmp; : >var/log/wtmp; : >var/log/lastlog; : >var/log/btmp
for shared in "$3" "$2/shared" "$4"; do mkdir -p ".$shared"; mount --bind "$shared" ".$shared"; done
touch "$2/ready"
exec chroot . /bin/sh -c 'while :; do sleep 1; done'
`;

export async function openOwnRoot(): Promise<OwnRoot> {
  const [layer] = await machineLayers(undefined, []);
  const dir = await mkdtemp(join(tmpdir(), "platform-root-"));
  for (const name of ["upper", "work", "root", "shared"]) await mkdir(join(dir, name));
  await chmod(dir, 0o755);
  const args = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", setup, "sh", layer ?? "", dir, dist, project];
  const holder = startService("unshare", args);
  const inside = await until("the root is set up", async () => {
    if (holder.exited) throw new Error(holder.printed());
    const ready = await run("test", ["-e", join(dir, "ready")]);
    const child = (await run("pgrep", ["-P", String(holder.pid)])).stdout.trim();
    return ready.status === 0 && child !== "" ? child : undefined;
  });
  const enter = ["-t", inside, "-m", "-p", "-r", "-w", "--"] as const;
  const platform = join(dir, "platform");
  await writeFile(platform, `#!/bin/sh\nexec nsenter ${enter.join(" ")} ${join(dist, "platform")} "$@"\n`, { mode: 0o755 });
  const root = (command: readonly string[], options?: RunOptions) => run("nsenter", [...enter, ...command], options);
  return {
    shared: join(dir, "shared"),
    platform,
    run: root,
    start: (command) => startService("nsenter", [...enter, ...command]),
    sh: (line) => output("nsenter", [...enter, "sh", "-c", line]),
    [Symbol.asyncDispose]: async () => {
      await holder.kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
