import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BuildTarget } from "./build-target.ts";
import { run } from "./run.ts";

const code = ["-shared", "-fPIC", "-pthread", "-O3", "-fno-omit-frame-pointer", "-s", "-Wl,--build-id=none"];

const strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"];

/** Our own addons, in C. They use only Node-API, independent of the runtime's version. */
const ownAddons = {
  "memory.node": ["core/memory/memory-addon.c"],
  "process.node": ["core/processes/process-addon.c"],
  "host.node": ["host-addon.c", "hand-over.c", "peer-state.c", "record-logout.c", "start-program.c", "session/utmp-record.c"].map(
    (name) => `agent/host/${name}`,
  ),
} as const;

interface OwnAddon {
  readonly root: string;
  readonly target: Pick<BuildTarget, "runtime" | "gcc">;
  readonly name: keyof typeof ownAddons;
  readonly output: string;
}

/** Compiles one of them. */
export async function compileOwnAddon({ root, target, name, output }: OwnAddon): Promise<string> {
  const sources = ownAddons[name].map((file) => join(root, file));
  await run(target.gcc, [...code, ...strict, ...oldGlibc(root), `-I${target.runtime}/include/node`, ...sources, "-o", output]);
  return output;
}

/**
 * Compiles `session-start`, a separate program: each session waits for its start, and the process that closes it at PAM lives as long. The linker
 * would leave out libdl, which is empty here and where an older glibc has dlopen.
 */
export async function compileSessionStart(root: string, { gcc }: BuildTarget, output: string): Promise<string> {
  const folder = join(root, "agent/host/session");
  const own = (await readdir(folder)).filter((name) => name.endsWith(".c")).sort();
  const sources = [...own.map((name) => join(folder, name)), join(root, "scripts/build/old-start.c")];
  const kind = ["-fPIE", "-pie", "-O2", "-s", "-Wl,--build-id=none", "-Wl,-z,relro,-z,now"];
  const libraries = ["-Wl,--no-as-needed", "-l:libdl.so.2"];
  await run(gcc, [...kind, ...strict, ...oldGlibc(root), ...sources, ...libraries, "-o", output]);
  return output;
}

/** glibc 2.34 moved functions: without this an addon would ask for a newer library than anything else in it. */
const oldGlibc = (root: string): readonly string[] => ["-include", join(root, "scripts/build/old-glibc.h")];

/**
 * Compiles ssh2's addon against the headers of the Node that we ship, with the flags that node-gyp would use
 * (include/node/common.gypi, ssh2's binding.gyp). It takes OpenSSL from the executable.
 */
export async function compileAddon(root: string, target: BuildTarget, output: string): Promise<string> {
  const modules = join(root, "node_modules");
  const major = /^\d+/.exec(process.versions.openssl)?.[0] ?? "3";
  const defines = [
    "NODE_GYP_MODULE_NAME=sshcrypto",
    "USING_UV_SHARED=1",
    "USING_V8_SHARED=1",
    "V8_DEPRECATION_WARNINGS=1",
    "_GLIBCXX_USE_CXX11_ABI=1",
    "_FILE_OFFSET_BITS=64",
    "_LARGEFILE_SOURCE",
    "__STDC_FORMAT_MACROS",
    "OPENSSL_NO_PINSHARED",
    "OPENSSL_THREADS",
    "OPENSSL_API_COMPAT=0x10100000L",
    `REAL_OPENSSL_MAJOR=${major}`,
    "BUILDING_NODE_EXTENSION",
    "NDEBUG",
  ].map((define) => `-D${define}`);
  const language = ["-std=gnu++20", "-fno-rtti", "-fno-exceptions", "-w"];
  const includes = [`-I${target.runtime}/include/node`, `-I${modules}/nan`];
  const objectWrap = ["-include", join(root, "scripts/build/object-wrap.h")];
  const source = join(modules, "ssh2/lib/protocol/crypto/src/binding.cc");
  await run(target.gxx, [...code, ...language, ...oldGlibc(root), ...includes, ...objectWrap, ...defines, source, "-o", output]);
  return output;
}
