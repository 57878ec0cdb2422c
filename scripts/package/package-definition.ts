/** A file of a package. */
export interface PackagedFile {
  readonly from: string;
  /** Absolute path on the host. */
  readonly to: string;
  readonly mode: 0o755 | 0o644;
  /** Kept as the admin changed it. */
  readonly configuration?: boolean;
  /** Stored compressed, `.gz` is added to `to`. */
  readonly gzip?: boolean;
}

export type PackageFormat = "deb" | "rpm";
export type PackageName = "platform-ent" | "platform-ent-updater";

/** What a package is, for both formats. */
export interface PackageDefinition {
  readonly name: PackageName;
  readonly summary: string;
  /** Lines of at most 72 characters. */
  readonly description: readonly string[];
  readonly files: readonly PackagedFile[];
  /** Link → what it holds. */
  readonly links: Readonly<Record<string, string>>;
  /** Folders that the package owns, 0755. */
  readonly folders: readonly string[];
  /** Other packages of ours that it needs. */
  readonly needs: readonly PackageName[];
}

/** The programs that go into packages. */
export interface PackagedPrograms {
  readonly executable: string;
  readonly updater: string;
  readonly pty: string;
}

const units = "/usr/lib/systemd/system";

/** Both packages. The package is the same on all systems but for apt's preferences, which only the deb has. */
export function packageDefinitions(packaging: string, programs: PackagedPrograms, format: PackageFormat): readonly PackageDefinition[] {
  const source = (from: string): string => `${packaging}/${from}`;
  const unit = (name: string, to = name): PackagedFile => ({ from: source(`systemd/${name}`), to: `${units}/${to}`, mode: 0o644 });
  const page = (name: string): PackagedFile => ({
    from: source(`man/${name}`),
    to: `/usr/share/man/man${name.at(-1)}/${name}`,
    mode: 0o644,
    gzip: true,
  });
  const apt = { from: source("apt/platform-ent"), to: "/usr/share/platform-ent-updater/apt-preferences", mode: 0o644 } as const;
  return [
    {
      name: "platform-ent",
      summary: "access platform: control server, agent and command lines",
      description: [
        "People reach SSH servers behind firewalls through a small control",
        "server; the agent beside the host only dials out. One executable:",
        "platform, with the command lines tsh and tctl.",
      ],
      files: [
        { from: programs.executable, to: "/usr/bin/platform", mode: 0o755 },
        { from: programs.pty, to: "/usr/lib/platform/pty.node", mode: 0o644 },
        // Not in the updater's own package, which it puts back.
        { from: source("restore-updater"), to: "/usr/lib/platform/restore-updater", mode: 0o755 },
        unit("platform.service"),
        unit("10-platform.conf", "platform.service.d/10-platform.conf"),
        { from: source("needrestart/platform.conf"), to: "/etc/needrestart/conf.d/platform.conf", mode: 0o644, configuration: true },
        ...["platform.8", "tsh.1", "tctl.1"].map(page),
      ],
      links: { "/usr/bin/tsh": "platform", "/usr/bin/tctl": "platform" },
      folders: ["/usr/lib/platform", `${units}/platform.service.d`],
      needs: [],
    },
    {
      name: "platform-ent-updater",
      summary: "keeps the access platform's agent at the wanted version",
      description: [
        "Asks the cluster for the version that it wants, installs it in the",
        "maintenance window, and goes back to the version before when the new",
        "one is not healthy.",
      ],
      files: [
        { from: programs.updater, to: "/usr/sbin/platform-upgrade", mode: 0o755 },
        unit("platform-upgrade.service"),
        unit("platform-upgrade.timer"),
        unit("20-platform-upgrade.conf", "platform.service.d/20-platform-upgrade.conf"),
        page("platform-upgrade.8"),
        ...(format === "deb" ? [apt] : []),
      ],
      links: {},
      folders: ["/etc/platform-upgrade.d", "/var/lib/platform-upgrade", `${units}/platform.service.d`],
      // Without the agent there is nothing to keep up to date: the updater would install again what the admin removed.
      needs: ["platform-ent"],
    },
  ];
}
