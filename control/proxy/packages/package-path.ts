/** Longest path of a file below the folder, characters. */
const maxPath = 1024;

/**
 * The part of a URL's path after `/packages/` as a relative file name. Package managers and people write `/./` and `//`, which
 * mean nothing. Undefined for whatever can name no file that is to be served: a folder's path, `..` or any other name with a dot in
 * front, a slash or NUL in disguise, bad encoding.
 */
export function parsePackagePath(path: string): string | undefined {
  if (path.length > maxPath) return undefined;
  let names: readonly string[];
  try {
    names = path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const steps = names.filter((name, at) => (name !== "" && name !== ".") || at === names.length - 1);
  return steps.every((name) => /^[^./\\\0][^/\\\0]*$/.test(name)) ? steps.join("/") : undefined;
}
