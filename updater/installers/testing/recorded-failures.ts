import type { Step } from "../command-failure.ts";

/** Recorded from real programs: apt 2.6.1, dpkg 1.21.22, dnf 4.14, zypper 1.14.42, rpm 4.18; only addresses were changed. */
export const recordedFailures: readonly (readonly [name: string, step: Step, reason: string, text: string])[] = [
  [
    "apt: the index was changed after it was signed",
    "refresh",
    "signature_wrong",
    `Reading package lists...
W: GPG error: http://a.example/apt stable/v1 InRelease: The following signatures were invalid: BADSIG 284EF3AE13E54F32 Toy <toy@example.test>
E: The repository 'http://a.example/apt stable/v1 InRelease' is not signed.`,
  ],
  [
    "apt: an unknown key",
    "refresh",
    "signature_wrong",
    `Err:1 http://a.example/apt stable/v1 InRelease
  The following signatures couldn't be verified because the public key is not available: NO_PUBKEY CE3DD9F4F33FA67F`,
  ],
  ["apt: no signature", "refresh", "signature_wrong", "E: The repository 'http://a.example/apt stable/v1 Release' is not signed."],
  [
    "apt: out of date",
    "refresh",
    "signature_wrong",
    "E: Release file for http://a.example/apt/dists/stable/v1/InRelease is expired (invalid since 18d 16h 18min 59s). Updates for this repository will not be applied.",
  ],
  [
    "apt: from the future",
    "refresh",
    "signature_wrong",
    "E: Release file for http://a.example/apt/dists/stable/v1/InRelease is not valid yet (invalid for another 345d 7h 40min 51s). Updates for this repository will not be applied.",
  ],
  [
    "apt: an index that is not the signed one",
    "refresh",
    "signature_wrong",
    "E: Failed to fetch http://a.example/apt/dists/stable/v1/main/binary-amd64/Packages  File has unexpected size (3502 != 3501). Mirror sync in progress? [IP: 10.94.1.1 80]",
  ],
  [
    "apt: nothing there",
    "refresh",
    "repository_unreachable",
    `Err:2 http://a.example/apt stable/v1 Release
  404  File not found [IP: 10.94.1.1 80]
E: The repository 'http://a.example/apt stable/v1 Release' does not have a Release file.`,
  ],
  [
    "apt: nothing where an index was before",
    "refresh",
    "repository_unreachable",
    `Err:2 https://a.example/packages/apt stable/v1 Release
  404  Not Found [IP: 10.94.1.1 443]
E: The repository 'https://a.example/packages/apt stable/v1 Release' no longer has a Release file.`,
  ],
  [
    "apt: refused",
    "refresh",
    "repository_unreachable",
    `E: Failed to fetch http://a.example:1/apt/dists/stable/v1/InRelease  Could not connect to a.example:1 (10.94.1.1). - connect (111: Connection refused)
E: Some index files failed to download. They have been ignored, or old ones used instead.`,
  ],
  [
    "apt: no such name",
    "refresh",
    "repository_unreachable",
    "E: Failed to fetch http://nohost.invalid/apt/dists/stable/v1/InRelease  Temporary failure resolving 'nohost.invalid'",
  ],
  [
    "apt: a portal",
    "refresh",
    "repository_unreachable",
    "E: Failed to fetch http://a.example/apt/dists/stable/v1/InRelease  Clearsigned file isn't valid, got 'NOSPLIT' (does the network require authentication?)",
  ],
  [
    "apt: a changed package",
    "download",
    "signature_wrong",
    "E: Failed to fetch http://a.example/apt/pool/platform-ent_1.1.0_amd64.deb  Hash Sum mismatch\n   Hashes of expected file:",
  ],
  [
    "apt: a missing package",
    "download",
    "package_missing",
    "E: Failed to fetch http://a.example/apt/pool/platform-ent_1.1.0_amd64.deb  404  File not found [IP: 10.94.1.1 80]\nE: Some files failed to download",
  ],
  ["apt: a missing version", "download", "package_missing", "E: Version '9.9.9' for 'platform-ent' was not found"],
  ["apt: a missing package name", "download", "package_missing", "E: Unable to locate package platform-entx"],
  ["apt: on hold", "install", "held_by_admin", "E: Held packages were changed and -y was used without --allow-change-held-packages."],
  [
    "apt: locked",
    "install",
    "package_manager_busy",
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (apt-get)\nE: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?",
  ],
  ["dpkg: locked", "install", "package_manager_busy", "dpkg: error: dpkg frontend lock was locked by another process with pid 812"],
  ["apt: no older one", "install", "package_manager_failed", "E: Packages were downgraded and -y was used without --allow-downgrades."],
  ["apt: the disk is full", "download", "no_space", "E: You don't have enough free space in /var/cache/platform-upgrade/archives/."],
  [
    "dpkg: the disk is full",
    "install",
    "no_space",
    "cannot copy extracted data for './usr/bin/platform' to '/usr/bin/platform.dpkg-new': failed to write (No space left on device)",
  ],
  [
    "dnf: the index was changed, or a stranger's key",
    "refresh",
    "signature_wrong",
    "Error: Failed to download metadata for repo 'platform': repomd.xml GPG signature verification error: Bad GPG signature",
  ],
  [
    "dnf: no signature",
    "refresh",
    "signature_wrong",
    "Error: Failed to download metadata for repo 'platform': GPG verification is enabled, but GPG signature is not available. This may be an error or the repository does not support GPG verification: Status code: 404 for http://a.example/repodata/repomd.xml.asc (IP: 10.94.2.1)",
  ],
  [
    "dnf: a portal",
    "refresh",
    "repository_unreachable",
    "Error: Failed to download metadata for repo 'platform': repomd.xml GPG signature verification error: gpgme_op_verify() error: No data",
  ],
  [
    "dnf: an index that is not the signed one",
    "refresh",
    "signature_wrong",
    "  - Downloading successful, but checksum doesn't match. Calculated: 80fb(sha256)  Expected: 99fe(sha256) \nError: Failed to download metadata for repo 'platform': Yum repo downloading error",
  ],
  [
    "dnf: nothing there",
    "refresh",
    "repository_unreachable",
    "  - Status code: 404 for http://a.example/repodata/repomd.xml (IP: 10.94.2.1)\nError: Failed to download metadata for repo 'platform': Cannot download repomd.xml: Cannot download repodata/repomd.xml: All mirrors were tried",
  ],
  [
    "dnf: refused",
    "refresh",
    "repository_unreachable",
    "  - Curl error (7): Couldn't connect to server for http://a.example:1/repodata/repomd.xml [Failed to connect to a.example port 1 after 0 ms: Couldn't connect to server]",
  ],
  [
    "dnf: a package without signature",
    "download",
    "signature_wrong",
    "Package platform-ent-1.1.0-1.x86_64.rpm is not signed\nError: GPG check FAILED",
  ],
  [
    "dnf: a missing package",
    "download",
    "package_missing",
    "[MIRROR] platform-ent-1.1.0-1.x86_64.rpm: Status code: 404 for http://a.example/platform-ent-1.1.0-1.x86_64.rpm (IP: 10.94.2.1)\nError: Error downloading packages:\n  platform-ent-1.1.0-1.x86_64: Cannot download, all mirrors were already tried without success",
  ],
  [
    "dnf: a missing version",
    "download",
    "package_missing",
    "No match for argument: platform-ent-9.9.9\nError: Unable to find a match: platform-ent-9.9.9",
  ],
  [
    "dnf: excluded, or locked to a version",
    "download",
    "held_by_admin",
    "All matches were filtered out by exclude filtering for argument: platform-ent-1.1.0\nError: Unable to find a match: platform-ent-1.1.0",
  ],
  [
    "dnf: rpm is locked",
    "install",
    "package_manager_busy",
    "error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)\nKey import failed (code 2). Failing package is: platform-ent-1.1.0-1.x86_64\nError: GPG check FAILED",
  ],
  ["dnf: the disk is full", "install", "no_space", "  installing package platform-ent-1.1.0-1.x86_64 needs 20MB more space on the / filesystem"],
  [
    "zypper: the index was changed, or a stranger's key",
    "refresh",
    "signature_wrong",
    "[platform|http://a.example/x86_64] Valid metadata not found at specified URL\nHistory:\n - Signature verification failed for repomd.xml\n - Can't provide /repodata/repomd.xml",
  ],
  [
    "zypper: nothing there",
    "refresh",
    "repository_unreachable",
    "[platform|http://a.example/x86_64] Valid metadata not found at specified URL\nHistory:\n - [platform|http://a.example/x86_64] Repository type can't be determined.",
  ],
  [
    "zypper: refused",
    "refresh",
    "repository_unreachable",
    " - Download (curl) error for 'http://a.example:1/x86_64/content':\nError code: Connection failed\nError message: Failed to connect to a.example port 1 after 0 ms: Couldn't connect to server",
  ],
  [
    "zypper: a package without signature",
    "install",
    "signature_wrong",
    "platform-ent-1.1.0-1.x86_64.rpm:\n    Package is not signed!\n\nplatform-ent-1.1.0-1.x86_64 (platform): Signature verification failed [6-File is unsigned]",
  ],
  [
    "zypper: a missing package",
    "download",
    "package_missing",
    "File './platform-ent-1.1.0-1.x86_64.rpm' not found on medium 'http://a.example/x86_64'\n\nAbort, retry, ignore? [a/r/i] (a): a",
  ],
  [
    "zypper: a missing version",
    "download",
    "package_missing",
    "'platform-ent=9.9.9' not found in package names. Trying capabilities.\nNo provider of 'platform-ent=9.9.9' found.",
  ],
  [
    "zypper: locked by the admin",
    "download",
    "held_by_admin",
    "Problem: conflicting requests\n Solution 1: Following actions will be done:\n  remove lock to allow installation of platform-ent-1.1.0-1.x86_64[platform]",
  ],
  [
    "zypper: another zypper runs",
    "refresh",
    "package_manager_busy",
    "System management is locked by the application with pid 637 (zypper).\nClose this application before trying again.",
  ],
  ["anything else", "install", "package_manager_failed", "segmentation fault"],
];
