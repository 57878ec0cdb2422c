import { describe, expect, test } from "vitest";
import { controlText, debChangelog } from "./control-text.ts";
import { type PackageDefinition, packageDefinitions } from "./package-definition.ts";
import type { Release } from "./release.ts";
import { specText } from "./spec-text.ts";

const programs = { executable: "/e", updater: "/u", pty: "/p" };
const release: Release = { version: "1.2.0~rc.1", arch: "arm64", epoch: 1_790_000_000, fast: true };

function definition(name: PackageDefinition["name"], format: "deb" | "rpm"): PackageDefinition {
  const found = packageDefinitions("/packaging", programs, format).find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

describe("a control file", () => {
  const text = controlText({ definition: definition("platform-ent-updater", "deb"), release, installedSize: 42, oldestGlibc: [2, 34] });

  test("names what the executable needs, and the agent", () => {
    expect(text).toContain("Depends: libc6 (>= 2.34), libgcc-s1 | libgcc1, libstdc++6 (>= 5.2), platform-ent\n");
    expect(text).toContain("Version: 1.2.0~rc.1\nArchitecture: arm64\n");
  });

  test("is fields, with the description's lines indented", () => {
    for (const line of text.trimEnd().split("\n")) expect(line).toMatch(/^([A-Z][A-Za-z-]+: \S| {1,2}\S)/);
  });

  test("its changelog is dated by the release", () => {
    expect(debChangelog("platform-ent", release)).toContain(">  Mon, 21 Sep 2026 14:13:20 +0000\n");
  });
});

describe("a spec", () => {
  const agent = definition("platform-ent", "rpm");
  const scriptlets = { post: "echo 100% %{version}\n", preun: "exit 0\n" };
  const text = specText({ definition: agent, release, scriptlets, oldestGlibc: [2, 28] });

  test("takes nothing in a scriptlet for a macro", () => {
    expect(text).toContain("%post\necho 100%% %%{version}\n");
  });

  test("requires libraries by the names that every family has", () => {
    expect(text).toContain("Requires: libc.so.6(GLIBC_2.28)(64bit)\n");
    expect(text).not.toContain("systemd >=");
  });

  test("lists each file once, with its mode", () => {
    const files = text.slice(text.indexOf("%files")).split("\n");
    const paths = files.flatMap((line) => /^(?:%\S+ )*(\/\S+)$/.exec(line)?.[1] ?? []);
    expect(new Set(paths).size).toBe(paths.length);
    expect(files).toContain("%attr(0755,root,root) /usr/bin/platform");
    expect(files).toContain("%config(noreplace) %attr(0644,root,root) /etc/needrestart/conf.d/platform.conf");
    for (const { to } of agent.files) expect(paths.some((path) => path.replace(/\.gz$/, "") === to)).toBe(true);
  });

  test("is dated in the format that rpm reads", () => {
    expect(text).toContain("%changelog\n* Mon Sep 21 2026 ");
  });
});

describe("the packages", () => {
  test("have apt's preferences on apt alone, and no configuration of the platform", () => {
    const paths = (format: "deb" | "rpm"): string[] =>
      packageDefinitions("/packaging", programs, format).flatMap(({ files }) => files.map(({ to }) => to));
    expect(paths("deb").filter((path) => !paths("rpm").includes(path))).toEqual(["/usr/share/platform-ent-updater/apt-preferences"]);
    for (const path of paths("rpm")) expect(path).not.toMatch(/platform\.yaml|etc\/default/);
  });

  test("own no file twice", () => {
    const paths = packageDefinitions("/packaging", programs, "deb").flatMap(({ files, links }) => [
      ...files.map(({ to }) => to),
      ...Object.keys(links),
    ]);
    expect(new Set(paths).size).toBe(paths.length);
  });
});
