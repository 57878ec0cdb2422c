import { expect, test } from "vitest";
import { isImmutable, mediaType } from "./media-type.ts";

const hash = "0".repeat(64);
test.for([
  ["apt/pool/main/p/platform-ent_1.0.0_amd64.deb", "application/vnd.debian.binary-package", true],
  ["yum/stable/v1/x86_64/platform-ent-1.0.0-1.x86_64.rpm", "application/x-rpm", true],
  [`apt/dists/stable/v1/main/binary-amd64/by-hash/SHA256/${hash}`, "application/octet-stream", true],
  [`yum/stable/v1/x86_64/repodata/${hash}-primary.xml.zst`, "application/zstd", true],
  ["yum/stable/v1/x86_64/repodata/repomd.xml", "application/xml", false],
  ["yum/stable/v1/x86_64/repodata/repomd.xml.asc", "application/pgp-signature", false],
  ["apt/dists/stable/v1/InRelease", "text/plain; charset=utf-8", false],
  ["apt/dists/stable/v1/Release.gpg", "application/pgp-signature", false],
  ["apt/dists/stable/v1/main/binary-amd64/Packages.xz", "application/x-xz", false],
  ["apt/dists/stable/v1/main/binary-amd64/Packages", "text/plain; charset=utf-8", false],
  ["keys/platform.asc", "application/pgp-keys", false],
  ["index.html", "application/octet-stream", false],
  ["x.svg", "application/octet-stream", false],
  ["constructor", "application/octet-stream", false],
] as const)("%s is %s", ([path, type, immutable]) => {
  expect(mediaType(path)).toBe(type);
  expect(isImmutable(path)).toBe(immutable);
});
