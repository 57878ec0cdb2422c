/** process-addon.c, compiled. */
export interface ProcessAddon {
  /**
   * One datagram to a service manager, as of sd_notify(3), without waiting. `pid` 0: in our own name; another process's needs
   * CAP_SYS_ADMIN. 0, or the errno that says why not.
   */
  notify(address: string, text: string, pid: number): number;
  /** From now on there is no core file of this process. 0 or an errno. */
  forbidDumps(): number;
}

/** There is none from source: the build puts its loader in the place of this file (scripts/build/bundle.ts). */
export function processAddon(): ProcessAddon | undefined {
  return undefined;
}
