/** What a request to a registry is for (opencontainers/distribution-spec 1.1, the part that reads). */
export type RegistryAsk =
  | { readonly kind: "version" }
  | { readonly kind: "tags"; readonly name: string }
  /** `reference`: a tag, or a digest. */
  | { readonly kind: "manifest"; readonly name: string; readonly reference: string }
  | { readonly kind: "blob"; readonly name: string; readonly digest: string };

/** Longest path, characters. */
const maxPath = 512;
const nameShape = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagShape = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const digestShape = /^sha256:[0-9a-f]{64}$/;

/** The path of a URL after `/v2/`, without its query. Undefined: nothing that a registry has. Pure. */
export function parseRegistryPath(path: string): RegistryAsk | undefined {
  if (path === "") return { kind: "version" };
  if (path.length > maxPath) return undefined;
  const parts = path.split("/");
  const [last = "", what = ""] = [parts.at(-1), parts.at(-2)];
  const name = parts.slice(0, -2).join("/");
  if (!nameShape.test(name)) return undefined;
  if (what === "tags") return last === "list" ? { kind: "tags", name } : undefined;
  if (what === "blobs") return digestShape.test(last) ? { kind: "blob", name, digest: last } : undefined;
  if (what !== "manifests" || !(digestShape.test(last) || tagShape.test(last))) return undefined;
  return { kind: "manifest", name, reference: last };
}

/** Whether a manifest's reference is a digest, rather than a tag. Pure. */
export function isDigest(reference: string): boolean {
  return digestShape.test(reference);
}
