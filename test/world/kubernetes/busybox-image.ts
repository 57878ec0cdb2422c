import { createHash } from "node:crypto";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { output } from "../program.ts";

/** The images that the real node has; others are pulled from registries that a story names (`trustRegistry`). */
export const busyboxImage = "registry.test/busybox:1";
export const pauseImage = "registry.test/pause:1";
/** Names that Kubernetes' own specs have for it (`conformance`). */
const specNames = ["registry.test/busybox:1.29", "registry.test/pause:3.2"];

/** Writes an archive, as `docker save` has it, of Debian's static busybox, under all of these names. */
export async function writeBusyboxImage(dir: string): Promise<string> {
  const [root, archive] = [join(dir, "root"), join(dir, "archive")];
  for (const one of ["bin", "etc", "tmp", "root", "var", "proc", "dev", "sys"]) await mkdir(join(root, one), { recursive: true });
  await mkdir(archive, { recursive: true });
  await copyFile("/usr/bin/busybox", join(root, "bin/busybox"));
  const programs = (await output("/usr/bin/busybox", ["--list"])).split("\n").filter((name) => name !== "" && name !== "busybox");
  for (const name of programs) await symlink("busybox", join(root, "bin", name));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  await output("tar", ["--numeric-owner", "--owner=0", "--group=0", "-C", root, "-cf", join(archive, "layer.tar"), "."]);
  const digest = (await output("sha256sum", [join(archive, "layer.tar")])).slice(0, 64);
  const config = JSON.stringify({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config: { Env: ["PATH=/bin"], Cmd: ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
  });
  const configName = `${createHash("sha256").update(config).digest("hex")}.json`;
  await writeFile(join(archive, configName), config);
  await writeFile(
    join(archive, "manifest.json"),
    JSON.stringify([{ Config: configName, RepoTags: [busyboxImage, pauseImage, ...specNames], Layers: ["layer.tar"] }]),
  );
  const file = join(dir, "busybox.tar");
  await output("tar", ["-C", archive, "-cf", file, "manifest.json", configName, "layer.tar"]);
  return file;
}
