/**
 * Why a host has its current version: each tick of the updater ends in one of these, and so does the agent's check
 * of its updater. The same code is in the updater's output, its state file, the inventory, the metric and the audit log.
 * docs/upgrade-reasons.md has them with what to do for each; a test keeps the two equal.
 */
export const upgradeReasons = {
  up_to_date: "the host has the version that the cluster wants",
  upgraded: "the new version was installed and is healthy",
  outside_window: "a newer version waits for the next maintenance window",
  no_schedule: "a newer version waits: the cluster has given no maintenance window",
  stale_schedule: "a newer version waits: every window of the schedule is past",
  held_by_admin: "the package is held or pinned on the host, or the workload suspended, by its admin",
  held_by_rollout: "the roll-out has not reached this host, is paused, stopped or frozen",
  waiting_for_sessions: "earlier versions still carry sessions: the upgrade waits for them to end",
  known_bad: "rolled back here: skipped until another is wanted, it is forced, or a configuration it refused changes",
  major_mismatch: "the wanted version has another major than the updater, which could not follow yet",
  below_minimum: "the cluster wants a version below the lowest that the host's admin allows",
  not_signed: "the cluster's auth service does not vouch for the wanted version, as it has done before on this host",
  above_proxy: "the cluster wants a higher major than its proxy has",
  not_wanted: "the cluster wants no version at the moment",
  endpoint_unreachable: "the version endpoint cannot be reached",
  certificate_wrong: "the version endpoint's certificate is not trusted",
  version_nonsense: "the version endpoint's answer is not a version",
  not_configured: "no endpoint is configured, a setting cannot be read, or the package is not installed",
  package_missing: "the repository does not have the wanted version",
  repository_unreachable: "the package repository cannot be reached, or refuses this host",
  signature_wrong: "the repository or the package is not signed by a key that this host trusts, or its index has expired",
  no_space: "there is not enough room on the disk for the package",
  no_way_back: "the package for a roll-back could not be kept, so nothing was installed",
  package_manager_busy: "another program holds the package manager",
  package_manager_failed: "the package manager failed",
  already_running: "another run of the updater is in progress",
  healed: "an interrupted installation was completed or undone",
  rolled_back: "the new version was not healthy: the previous one was installed again",
  rollback_failed: "the new version is not healthy, and the previous one could not be installed again",
  restart_needed: "the new version is installed, but the running process could not be replaced",
  updater_missing: "the host counts as enrolled, but the updater is not installed",
  timer_off: "the updater's timer is disabled or stopped",
  never_ran: "the updater is installed, but has not run yet",
  updater_silent: "the updater has not run for two days, although its timer is on; in Kubernetes for two hours",
  rolling_out: "pods of the workload are being replaced, or are not ready",
  set_back: "another program set the previous image again each time: the updater has stopped",
  suggested: "the image is named to the tool that owns it, which has not set it yet",
  kubernetes_failed: "the Kubernetes API cannot be reached, or refuses the updater",
  change_refused: "the Kubernetes API server, or a policy there, refuses the change of the image",
  internal: "the updater failed because of an internal error",
} as const satisfies Record<string, string>;

export type UpgradeReason = keyof typeof upgradeReasons;

/** What to do about each, for the host's admin: words between backticks are commands, names and paths. docs/upgrade-reasons.md has the same. */
export const upgradeRemedies: Readonly<Record<UpgradeReason, string>> = {
  up_to_date: "Nothing.",
  upgraded: "Nothing.",
  outside_window: "Nothing: the detail names the window. To upgrade at once: `platform-upgrade force` on the host, or `critical` for the channel.",
  no_schedule:
    "Right after the installation, wait some minutes. Otherwise run `tctl get cluster_maintenance_config`, and see `schedule_error` in `tctl inventory status`. Check that the agent runs, is connected, and may write `/etc/platform-upgrade.d/schedule`.",
  stale_schedule: "The agent no longer writes `/etc/platform-upgrade.d/schedule`: make sure that it runs and is connected. Check the host's clock.",
  held_by_admin:
    "If the hold has served its purpose, lift it: the detail says how (`apt-mark unhold`, the pin's file, `dnf versionlock delete`, `zypper rl`; in Kubernetes the annotation `platform.dev/skipreconcile`, or an update strategy that waits for people). Nothing overrides it, not even `force`.",
  held_by_rollout: "`tctl upgrades status` shows why and until when. To upgrade one host out of turn, run `platform-upgrade force` on it.",
  waiting_for_sessions:
    "Wait, or ask their owners to end the old sessions: `tctl inventory status` counts them. To upgrade at once: `platform-upgrade force`, which does not cut them either.",
  known_bad:
    "Find out why it failed: the detail, `journalctl -u platform`. If it refused the configuration, the detail names the file: correct it, and the next run in a maintenance window tries the version again. Otherwise publish a fixed version; or retry this one with `platform-upgrade force`.",
  major_mismatch:
    "Nothing if the detail says that the updater has moved: its next run continues. Otherwise install `platform-ent-updater` of the wanted version by hand; the detail names the obstacle.",
  below_minimum:
    "Correct the channel; or, if the version is intended, lower `/etc/platform-upgrade.d/minimum` on the host. `force` does not override it.",
  not_signed:
    "Check `tctl status` (do proxies disagree?), the clocks of host and auth service, and whether the agent writes `/etc/platform-upgrade.d/authorities`. If control went back to a version that does not sign: `platform-upgrade force`. If none of this explains it, somebody may be impersonating the proxy.",
  above_proxy: "Upgrade the proxies first, or correct the channel's version.",
  not_wanted:
    "Nothing, if this is intended; the detail says so if the channel wants a higher major than the proxy has. Otherwise give the channel a version (`automatic_upgrades_channels` of the proxies).",
  endpoint_unreachable:
    "From the host: `curl https://<endpoint>/version`. Check the proxy's address, name resolution, the firewall, and `HTTPS_PROXY`/`NO_PROXY` in `/etc/default/platform`. A freshly installed upgrade is watched until the network is back.",
  certificate_wrong: "Check the address and the host's clock. A private authority belongs in the host's store, or in `/etc/platform-upgrade.d/ca`.",
  version_nonsense:
    "Another server answers instead of the proxy (a captive portal, a login page), or the channel does not exist: check `/etc/platform-upgrade.d/endpoint`.",
  not_configured:
    "The detail names the file. `endpoint` holds `<proxy address>/v1/webapi/automaticupgrades/channel/default`; the install script writes it.",
  package_missing: "Publish the version in the host's repository, or correct the channel's version.",
  repository_unreachable:
    "Check the repository's address in the package manager's settings, the firewall, and the proxy variables. In Kubernetes, if the detail has status 401 or 403: credentials of the registry, `updater.pullSecret` for the updater and `imagePullSecrets` for the pods.",
  signature_wrong:
    "Do not force it. Compare the key on the host with the one that the repository publishes; check that the index is recent and that the host's clock is right.",
  no_space: "Free space on the file system that the detail names.",
  no_way_back:
    "Publish the host's current version again, so that it can be fetched for a roll-back; the detail says what is missing. To upgrade without a way back: `platform-upgrade force`.",
  package_manager_busy:
    "Nothing: the next run retries. If it persists, find the program that holds the package manager; the detail names it if it is known.",
  package_manager_failed:
    "Read the detail and `journalctl -u platform-upgrade`; then run the package manager by hand (`apt-get -f install`, `dnf check`, `zypper verify`).",
  already_running: "Nothing.",
  healed: "Nothing: the updater repaired the effects of a power cut or a kill in the middle of an upgrade.",
  rolled_back:
    "Find out why it failed: the detail, `journalctl -u platform`. This host skips the version from now on, or until a configuration that it refused is changed; a staged roll-out stops if more hosts do so.",
  rollback_failed: "Act now, by hand: install the version that the detail names, then `systemctl restart platform`. Each run retries it.",
  restart_needed: "`systemctl reload platform`; if that does not help, `systemctl restart platform` at a quiet moment, because it cuts sessions.",
  updater_missing: "Install `platform-ent-updater`, or opt this host out of automatic updates (remove its drop-in).",
  timer_off: "If this is not intended: `systemctl enable --now platform-upgrade.timer`.",
  never_ran: "Wait for the timer's first run, some minutes after the installation; or `platform-upgrade run`.",
  updater_silent:
    "Find out why: `systemctl status platform-upgrade.service platform-upgrade.timer`; then `platform-upgrade run`. In Kubernetes: the log of the Deployment `<release>-updater`.",
  rolling_out: "Nothing, if it ends: the detail counts the pods. Otherwise `kubectl describe pod` of the one that it names.",
  set_back:
    "A GitOps tool owns the image: let it ignore the field, set the version there, or use mode `suggest` (kubernetes-updates.md). To try again at once: another value of the annotation `debug.platform.dev/trigger-event`.",
  suggested: "Let the tool take the annotation `platform.dev/update-target`.",
  kubernetes_failed: "Compare the updater's Role with the list in kubernetes-updates.md, and see its log.",
  change_refused:
    "The detail has the server's words, which name the policy or webhook: change it there. The next attempt is an hour later; at once with another value of the annotation `debug.platform.dev/trigger-event`.",
  internal: "Report it, with `journalctl -u platform-upgrade`.",
};
