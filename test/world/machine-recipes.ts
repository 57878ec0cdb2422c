/** Contents of all machines: systemd, apt, and the programs that tests use. No network use of its own, no daily jobs, no console. */
export const debianRoot = {
  suite: "bookworm",
  packages: [
    ...["systemd", "systemd-sysv", "dbus", "libpam-systemd", "ca-certificates", "curl", "wget", "gpgv", "iproute2", "procps", "passwd"],
    ...["sudo", "libfaketime", "openssl"],
  ],
  script: `: >/etc/machine-id
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/hostname /var/lib/dbus/machine-id
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
for unit in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer dpkg-db-backup.timer fstrim.timer \\
  systemd-tmpfiles-clean.timer console-getty.service systemd-resolved.service systemd-networkd.service; do
  ln -sfn /dev/null "/etc/systemd/system/$unit"
done
mkdir -p /etc/systemd/journald.conf.d /var/log/journal
printf '[Journal]\\nStorage=persistent\\nRateLimitIntervalSec=0\\nSystemMaxUse=64M\\n' >/etc/systemd/journald.conf.d/test.conf
`,
};

/** Packages of a machine that others copy files to; one list, so that it is made once. */
export const sshServer: readonly string[] = ["openssh-server", "rsync"];

export type RpmManager = "dnf" | "zypper";

/** dnf-plugins-core, which holds versionlock, cannot be installed beside Debian's zypper. */
export const rpmPackages: Readonly<Record<RpmManager, readonly string[]>> = {
  dnf: ["dnf", "dnf-plugins-core", "rpm", "gnupg"],
  zypper: ["zypper", "rpm", "gnupg"],
};

/**
 * rpm, dnf and zypper of Debian, made to behave as on their own systems: rpm's database in its place, $releasever 9, dnf as
 * strict as RHEL's, a package that provides what the Debian root has, and no apt or dpkg.
 */
export const rpmScript = `mkdir -p /etc/rpm /etc/yum.repos.d /etc/yum/vars /etc/zypp/repos.d /etc/pki/rpm-gpg /etc/pki/tls/certs
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros
rm -rf /root/.rpmdb
rpm --initdb
ln -s /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt
if [ -d /etc/dnf ]; then
  printf '[main]\\ngpgcheck=1\\ninstallonly_limit=3\\nclean_requirements_on_remove=True\\nbest=True\\nskip_if_unavailable=False\\n' >/etc/dnf/dnf.conf
  ln -s dnf /usr/bin/yum
fi
mkdir /tmp/rpm
cat >/tmp/rpm/debian-base.spec <<'EOF'
Name: debian-base
Version: 12
Release: 1
Summary: provides what the Debian root already has
License: MIT
BuildArch: noarch
Provides: /bin/sh /usr/bin/sh /bin/bash /usr/bin/bash bash /usr/bin/systemctl
Provides: systemd = 252 systemd-units shadow-utils coreutils glibc util-linux ca-certificates openssl-libs libstdc++ libgcc
Provides: libc.so.6(GLIBC_2.28)(64bit) libstdc++.so.6(GLIBCXX_3.4.21)(64bit) libgcc_s.so.1()(64bit)
Provides: system-release = 9 redhat-release = 9 system-release(releasever) = 9 distribution-release
%description
x
%files
EOF
rpmbuild --quiet --define '_topdir /tmp/rpm' -bb /tmp/rpm/debian-base.spec
rpm --install --nodeps /tmp/rpm/RPMS/noarch/debian-base-12-1.noarch.rpm 2>/dev/null
rm -rf /tmp/rpm
for unit in dnf-makecache.timer dnf-automatic.timer packagekit.service; do ln -sfn /dev/null "/etc/systemd/system/$unit"; done
rm -f /usr/bin/apt /usr/bin/apt-* /usr/bin/dpkg /usr/bin/dpkg-*
rm -rf /etc/apt
`;
