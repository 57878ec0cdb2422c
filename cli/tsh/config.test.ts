import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasProgram } from "../../test/world/has-program.ts";
import { sshConfigStanza } from "./config.ts";

function stanza(folder: string, home?: string): string {
  const paths = { folder, key: join(folder, "id"), cert: join(folder, "id-cert.pub"), knownHosts: join(folder, "known_hosts") };
  return sshConfigStanza({ facts: { cluster: "test.cluster", proxy: { host: "p", port: 443 } }, paths, command: ["/usr/bin/tsh"], tshHome: home });
}

test("the stanza is what ssh_config takes", () => {
  expect(stanza("/home/a/.tsh/p_443").split("\n")).toEqual([
    "# test.cluster through p:443",
    "Host *.test.cluster",
    "    ProxyCommand /usr/bin/tsh proxy ssh --proxy=p:443 --cluster=test.cluster %r@%h:%p",
    "    IdentityFile /home/a/.tsh/p_443/id",
    "    CertificateFile /home/a/.tsh/p_443/id-cert.pub",
    "    UserKnownHostsFile /home/a/.tsh/p_443/known_hosts",
    "    GlobalKnownHostsFile /dev/null",
    "    IdentitiesOnly yes",
    "    StrictHostKeyChecking yes",
  ]);
});

test.runIf(hasProgram("ssh")).for(["/home/a/.tsh", "/home/with space/.tsh", "/home/100%h/.tsh", `/home/it's "so"/.tsh`, "/home/b\\c/.tsh"])(
  "a stock ssh reads the paths back as they are: %s",
  (home) => {
    const folder = join(home, "p_443");
    const dir = mkdtempSync(join(tmpdir(), "platform-ssh-config-"));
    try {
      writeFileSync(join(dir, "config"), stanza(folder, home));
      const read = spawnSync("ssh", ["-T", "-G", "-F", join(dir, "config"), "root@web-1.test.cluster"], { encoding: "utf8" });
      expect(read.stderr).toBe("");
      // -G shows paths with % still doubled.
      const value = (key: string) => new RegExp(`^${key} (.*)$`, "m").exec(read.stdout)?.[1]?.replaceAll("%%", "%");
      expect(value("identityfile")).toBe(`${folder}/id`);
      expect(value("certificatefile")).toBe(`${folder}/id-cert.pub`);
      expect(value("userknownhostsfile")).toBe(`${folder}/known_hosts`);
      const shown = spawnSync("sh", ["-c", `exec ${value("proxycommand")}`.replace("/usr/bin/tsh", "sh -c 'printf %s \"$TSH_HOME\"'")], {
        encoding: "utf8",
      });
      expect(shown.stdout).toBe(home);
    } finally {
      rmSync(dir, { recursive: true });
    }
  },
);

test("a path with a line break is refused", () => {
  expect(() => stanza("/home/a\nProxyCommand evil")).toThrow(expect.objectContaining({ code: "invalid" }));
});
