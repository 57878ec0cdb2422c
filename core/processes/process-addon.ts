/** process-addon.c, compiled. */
export interface ProcessAddon {
  /**
   * One datagram to a service manager, as of sd_notify(3), without waiting. `pid` 0: as ourselves; another process needs
   * CAP_SYS_ADMIN. Returns 0, or the errno.
   */
  notify(address: string, text: string, pid: number): number;
  /** Disables core dumps of this process. Returns 0 or an errno. */
  forbidDumps(): number;
}

/** Unavailable from source: the build replaces this file with its loader (scripts/build/bundle.ts). */
export function processAddon(): ProcessAddon | undefined {
  return undefined;
}
