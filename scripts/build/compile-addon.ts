import { join } from "node:path";
import type { BuildTarget } from "./build-target.ts";
import { run } from "./run.ts";

const code = ["-shared", "-fPIC", "-pthread", "-O3", "-fno-omit-frame-pointer", "-s", "-Wl,--build-id=none"];

/** Compiles the addon that gives memory back (core/memory). Node-API alone: C, and no runtime's version. */
export async function compileMemoryAddon(root: string, target: BuildTarget, output: string): Promise<string> {
  const headers = join(target.runtime, "include/node");
  await run(target.gcc, [
    ...code,
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Werror",
    `-I${headers}`,
    join(root, "core/memory/memory-addon.c"),
    "-o",
    output,
  ]);
  return output;
}

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
  // glibc 2.34 moved dlsym: without this the addon would ask for a newer library than anything else in it.
  const oldGlibc = ["-include", join(root, "scripts/build/old-glibc.h")];
  const objectWrap = ["-include", join(root, "scripts/build/object-wrap.h")];
  const source = join(modules, "ssh2/lib/protocol/crypto/src/binding.cc");
  await run(target.gxx, [...code, ...language, ...oldGlibc, ...includes, ...objectWrap, ...defines, source, "-o", output]);
  return output;
}
