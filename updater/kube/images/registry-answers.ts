import { jsonOf, listOf, objectOf, textOf } from "../cluster/json-value.ts";

/** A registry's demand for credentials, from `WWW-Authenticate`. */
export type Challenge = { readonly scheme: "basic" } | { readonly scheme: "bearer"; readonly realm: string; readonly query: string };

const maxHeader = 4096;

/** `Bearer realm="…",service="…",scope="…"`, or `Basic …`; undefined for anything else. Pure; never throws. */
export function parseChallenge(header: string): Challenge | undefined {
  if (header.length > maxHeader) return undefined;
  if (/^basic\b/i.test(header)) return { scheme: "basic" };
  const rest = /^bearer\s+(.+)$/i.exec(header)?.[1];
  if (rest === undefined) return undefined;
  const parts = new Map([...rest.matchAll(/([a-z_]+)="([^"\\]*)"/gi)].map(([, name = "", value = ""]) => [name.toLowerCase(), value]));
  const realm = parts.get("realm") ?? "";
  if (!URL.canParse(realm)) return undefined;
  const query = new URLSearchParams();
  for (const name of ["service", "scope"]) {
    const value = parts.get(name);
    if (value !== undefined) query.set(name, value);
  }
  return { scheme: "bearer", realm, query: query.toString() };
}

/** The token of a token server's answer; undefined for anything that would not be one. Pure. */
export function parseToken(text: string): string | undefined {
  const { token, access_token } = objectOf(jsonOf(text));
  const found = textOf(token) || textOf(access_token);
  return /^[\x21-\x7e]{1,16384}$/.test(found) ? found : undefined;
}

/** What a manifest describes: images for several platforms, or one image with its configuration's digest. */
export type ManifestKind =
  | { readonly kind: "index"; readonly platforms: readonly string[] }
  | { readonly kind: "image"; readonly config: string }
  | { readonly kind: "unknown" };

/** OCI image manifest and index, Docker's v2 manifest and list. Platforms read `linux/amd64`. Pure; never throws. */
export function parseManifest(text: string): ManifestKind {
  const manifest = objectOf(jsonOf(text));
  if (Array.isArray(manifest.manifests)) {
    const platforms = listOf(manifest.manifests).flatMap((one) => {
      const platform = objectOf(objectOf(one).platform);
      return textOf(platform.os) === "" ? [] : [platformText(platform)];
    });
    return { kind: "index", platforms };
  }
  const config = textOf(objectOf(manifest.config).digest);
  return /^sha256:[0-9a-f]{64}$/.test(config) ? { kind: "image", config } : { kind: "unknown" };
}

/** `linux/amd64` of an image's configuration. Pure; never throws. */
export function platformOfConfig(text: string): string {
  return platformText(objectOf(jsonOf(text)));
}

function platformText({ os, architecture }: Readonly<Record<string, unknown>>): string {
  return `${textOf(os)}/${textOf(architecture)}`.slice(0, 64);
}

/** `user:password` for a registry in a `.dockerconfigjson`; undefined if it names none. Pure; never throws. */
export function credentialsFor(registry: string, dockerConfig: string): string | undefined {
  const auths = objectOf(objectOf(jsonOf(dockerConfig)).auths);
  const names = registry === "docker.io" ? ["docker.io", "https://index.docker.io/v1/", "index.docker.io"] : [registry, `https://${registry}`];
  const entry = objectOf(names.map((name) => (Object.hasOwn(auths, name) ? auths[name] : undefined)).find((one) => one !== undefined));
  const { auth, username, password } = entry;
  if (typeof username === "string" && typeof password === "string") return `${username}:${password}`;
  const decoded = typeof auth === "string" ? Buffer.from(auth, "base64").toString("utf8") : "";
  return decoded.includes(":") ? decoded : undefined;
}
