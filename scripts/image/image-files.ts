import { chmod, cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "../build/run.ts";

/** Below these, packages keep nothing that a program in a container reads. */
const unused = [
  "usr/share/man",
  "usr/share/locale",
  "usr/share/lintian",
  "usr/share/bug",
  "usr/share/gdb",
  "usr/share/gcc",
  "usr/sbin",
  "etc/ca-certificates",
  "etc/ld.so.conf.d",
];
const bundle = "etc/ssl/certs/ca-certificates.crt";

/** Lays out the files that every version has: Debian's libraries and authorities, the user, an empty /tmp. */
export async function layOutBase(root: string, { debs, packaging }: { readonly debs: readonly string[]; readonly packaging: string }): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const deb of debs) await run("dpkg-deb", ["--extract", deb, root]);
  for (const path of unused) await rm(join(root, path), { recursive: true, force: true });
  await keepCopyrights(join(root, "usr/share/doc"));
  await dropConverters(root);
  await writeBundle(root);
  await cp(join(packaging, "image/etc"), join(root, "etc"), { recursive: true });
  for (const file of await readdir(join(packaging, "image/etc"))) await chmod(join(root, "etc", file), 0o644);
  for (const folder of ["tmp", "var/lib/platform", "etc/platform"]) await mkdir(join(root, folder), { recursive: true });
  await setFolderModes(root);
  await chmod(join(root, "tmp"), 0o1777);
}

export interface ImagePrograms {
  readonly executable: string;
  readonly pty: string;
  readonly copyright: string;
}

/** Lays out the files of a version. */
export async function layOutPrograms(root: string, { executable, pty, copyright }: ImagePrograms): Promise<void> {
  const place = async (from: string, to: string, mode: number): Promise<void> => {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await cp(from, join(root, to), { dereference: true });
    await chmod(join(root, to), mode);
  };
  await place(executable, "usr/bin/platform", 0o755);
  await place(pty, "usr/lib/platform/pty.node", 0o644);
  await place(copyright, "usr/share/doc/platform-ent/copyright", 0o644);
  await setFolderModes(root);
}

/** The licenses allow leaving out all but their own text. */
async function keepCopyrights(doc: string): Promise<void> {
  for (const entry of await readdir(doc, { withFileTypes: true })) {
    // A link to the folder of another package.
    if (!entry.isDirectory()) continue;
    for (const file of await readdir(join(doc, entry.name))) if (file !== "copyright") await rm(join(doc, entry.name, file), { recursive: true });
  }
}

/** Modules of iconv and of profiling, which the runtime does not load. */
async function dropConverters(root: string): Promise<void> {
  for (const usr of ["usr/lib", "lib"]) {
    for (const machine of await readdir(join(root, usr), { withFileTypes: true })) {
      if (!machine.isDirectory()) continue;
      for (const name of ["gconv", "audit"]) await rm(join(root, usr, machine.name, name), { recursive: true, force: true });
    }
  }
}

/** The bundle that the package's script would make: all authorities, in the order of their names. */
async function writeBundle(root: string): Promise<void> {
  const source = join(root, "usr/share/ca-certificates");
  const files = (await readdir(source, { recursive: true })).filter((name) => name.endsWith(".crt")).sort();
  if (files.length < 50) throw new Error(`Debian's ca-certificates has only ${files.length} authorities`);
  const texts = await Promise.all(files.map(async (name) => `${(await readFile(join(source, name), "utf8")).trim()}\n`));
  await mkdir(dirname(join(root, bundle)), { recursive: true });
  await writeFile(`${join(root, bundle)}.new`, texts.join(""), { mode: 0o644 });
  await rename(`${join(root, bundle)}.new`, join(root, bundle));
  await chmod(join(root, bundle), 0o644);
  await rm(source, { recursive: true });
}

/** Folders are made under the builder's umask. */
async function setFolderModes(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const entry of await readdir(root, { withFileTypes: true })) if (entry.isDirectory()) await setFolderModes(join(root, entry.name));
}
