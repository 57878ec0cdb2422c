import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";

export interface SourceFile {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
  /** Paths of our own files that it imports, by any kind of import. */
  readonly imports: readonly string[];
  /** Packages and `node:` modules that it imports. */
  readonly packages: readonly string[];
}

const skipped = new Set(["node_modules", "dist", ".git", ".cache", "coverage"]);

/** Every TypeScript file under a root but the generated ones. */
export function readSources(root: string): readonly SourceFile[] {
  return listFiles(root)
    .filter((path) => /\.tsx?$/.test(path) && !path.startsWith("core/api/generated/"))
    .map((path) => readSource(root, path));
}

/** Every file and folder name under a root, from the root, with slashes. */
export function listFiles(root: string, folder = ""): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    if (skipped.has(name)) return [];
    const path = posix.join(folder, name);
    return statSync(join(root, path)).isDirectory() ? listFiles(root, path) : [path];
  });
}

/** Imports at the start of a line, over several lines too, and `import("x")` that stands in no text. */
const importPattern = /(?:^import\s+|^(?:import|export)\b[^"';(=]*?\bfrom\s+|(?<!["'`])\bimport\()"([^"]+)"/gm;

function readSource(root: string, path: string): SourceFile {
  const text = readFileSync(join(root, path), "utf8");
  const all = [...text.matchAll(importPattern)].map((match) => match[1] as string);
  const own = all.filter((name) => name.startsWith("."));
  const place = (name: string): string => posix.join(posix.dirname(path), name);
  return {
    path,
    text,
    imports: own.map(place),
    packages: all.filter((name) => !name.startsWith(".")),
  };
}
