/** host-addon.c, compiled. */
export interface HostAddon {
  /** No signal blocked, ignored or caught. */
  resetSignals(): void;
}

/** There is none from source: the build puts its loader in the place of this file (scripts/build/bundle.ts). */
export function hostAddon(): HostAddon | undefined {
  return undefined;
}
