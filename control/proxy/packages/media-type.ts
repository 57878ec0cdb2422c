const byExtension: Readonly<Record<string, string>> = {
  deb: "application/vnd.debian.binary-package",
  rpm: "application/x-rpm",
  gz: "application/gzip",
  tgz: "application/gzip",
  bz2: "application/x-bzip2",
  xz: "application/x-xz",
  zst: "application/zstd",
  xml: "application/xml",
  json: "application/json",
  asc: "application/pgp-keys",
  gpg: "application/pgp-keys",
  sig: "application/pgp-signature",
  repo: "text/plain; charset=utf-8",
  list: "text/plain; charset=utf-8",
  sources: "text/plain; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  sh: "text/x-shellscript; charset=utf-8",
};

/** Index files of apt, which have no extension. */
const plain = new Set(["InRelease", "Release", "Packages", "SHA256SUMS"]);

/** Media type by the file's name. Nothing is ever served as HTML. */
export function mediaType(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (plain.has(name)) return "text/plain; charset=utf-8";
  if (name === "Release.gpg" || name.endsWith(".xml.asc")) return "application/pgp-signature";
  return byExtension[/\.([a-z0-9]+)$/.exec(name)?.[1] ?? ""] ?? "application/octet-stream";
}

/** A package, or an index named by its content, never changes under its name; everything else must be revalidated. */
export function isImmutable(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return /\.(deb|rpm)$/.test(name) || /(^|\/)by-hash\/[A-Za-z0-9]+\/[0-9a-f]{32,128}$/.test(path) || /^[0-9a-f]{40,128}-/.test(name);
}
