/**
 * Why a host has its current version: each tick of the updater ends in one of these, and so does the agent's check
 * of its updater. The same code is in the updater's output, its state file, the inventory, the metric and the audit log.
 * docs/upgrade-reasons.md has what to do for each; a test keeps the two equal.
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
