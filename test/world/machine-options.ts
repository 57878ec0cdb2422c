/** The machine's package manager; decides which distribution it reports. */
export type MachineManager = "apt" | "dnf" | "yum" | "zypper";

export interface MachineOptions {
  /** Default apt: Debian 12. dnf: like Rocky Linux 9, yum: like Amazon Linux 2 (no dnf there), zypper: like openSUSE Leap. */
  readonly manager?: MachineManager;
  readonly hostname?: string;
  /** A network namespace to be in, as it is (of openNetwork, say); default one of its own with a way to this host alone. */
  readonly netns?: string;
  /** Name → address, for its /etc/hosts. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** More authorities (PEM) that its curl, apt, dnf and zypper trust. */
  readonly ca?: readonly string[];
  /** File or folder here → where the machine has it, read-only. */
  readonly binds?: Readonly<Record<string, string>>;
  /** More Debian packages; made once for each list, and kept. */
  readonly packages?: readonly string[];
  /** Size of its whole disk; default: that of this host's. */
  readonly diskMb?: number;
  /** For every command that is run on it. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The file that names the distribution. */
export const osReleases: Readonly<Record<Exclude<MachineManager, "apt">, string>> = {
  dnf: 'NAME="Rocky Linux"\nVERSION="9.4 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4"\n',
  yum: 'NAME="Amazon Linux"\nVERSION="2"\nID="amzn"\nID_LIKE="centos rhel fedora"\nVERSION_ID="2"\nPRETTY_NAME="Amazon Linux 2"\n',
  zypper: 'NAME="openSUSE Leap"\nVERSION="15.6"\nID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\nPRETTY_NAME="openSUSE Leap 15.6"\n',
};
