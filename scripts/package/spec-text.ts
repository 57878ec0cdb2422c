import type { PackageDefinition, PackagedFile } from "./package-definition.ts";
import { homepage, maintainer, type Release } from "./release.ts";
import { installedPath } from "./stage.ts";

export const rpmArch = { x64: "x86_64", arm64: "aarch64" } as const;

export interface SpecInput {
  readonly definition: PackageDefinition;
  readonly release: Release;
  /** Scriptlets by the name of their section: post, preun, postun. */
  readonly scriptlets: Readonly<Record<string, string>>;
  readonly oldestGlibc: readonly [number, number];
}

/**
 * The spec of an rpm whose files are staged already. Requirements are written down by the names of libraries, which are the
 * same on all families, and do not depend on which executable is packed.
 */
export function specText({ definition, release, scriptlets, oldestGlibc }: SpecInput): string {
  const libraries = [`libc.so.6(GLIBC_${oldestGlibc.join(".")})(64bit)`, "libgcc_s.so.1()(64bit)", "libstdc++.so.6(GLIBCXX_3.4.21)(64bit)"];
  const preamble = [
    `Name: ${definition.name}`,
    `Version: ${release.version}`,
    "Release: 1",
    `Summary: ${sentence(definition.summary)}`,
    "License: Apache-2.0",
    `URL: ${homepage}`,
    `Packager: ${maintainer}`,
    "Vendor: Access Platform",
    "Group: System/Daemons",
    "AutoReqProv: no",
    ...[...libraries, ...definition.needs].map((need) => `Requires: ${need}`),
    "OrderWithRequires(post): systemd",
    "OrderWithRequires(preun): systemd",
    "OrderWithRequires(postun): systemd",
  ];
  const sections = Object.entries(scriptlets).map(([name, script]) => `%${name}\n${literal(script)}`);
  return [
    ...preamble,
    "",
    "%description",
    ...definition.description,
    "",
    "%install",
    "cp -a %{staged}/. %{buildroot}/",
    "",
    ...sections,
    "%files",
    "%defattr(-,root,root)",
    ...fileList(definition),
    "",
    "%changelog",
    `* ${changelogDate(release.epoch)} ${maintainer} - ${release.version}-1`,
    `- Release ${release.version}.`,
    "",
  ].join("\n");
}

function fileList(definition: PackageDefinition): string[] {
  const line = (file: PackagedFile): string => {
    const kind = file.configuration === true ? "%config(noreplace) " : file.to.startsWith("/usr/share/man/") ? "%doc " : "";
    return `${kind}%attr(${file.mode.toString(8).padStart(4, "0")},root,root) ${installedPath(file)}`;
  };
  return [
    ...definition.folders.map((folder) => `%dir %attr(0755,root,root) ${folder}`),
    ...definition.files.map(line),
    ...Object.keys(definition.links),
    `%license %attr(0644,root,root) /usr/share/licenses/${definition.name}/LICENSE`,
  ];
}

/** A percent sign in a scriptlet is not a macro. */
function literal(script: string): string {
  return script.replaceAll("%", "%%");
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `Fri Nov 20 2026`. */
function changelogDate(epoch: number): string {
  const [day, date, month, year] = new Date(epoch * 1000).toUTCString().replace(",", "").split(" ");
  return `${day} ${month} ${date} ${year}`;
}
