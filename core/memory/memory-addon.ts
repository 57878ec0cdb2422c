/** memory-addon.c, compiled. */
export interface MemoryAddon {
  /** Memory that native code has freed, and pages of the executable. */
  release(): void;
  /** Memory that native code has freed. */
  trim(): void;
}

/** Unavailable from source: the build replaces this file with its loader (scripts/build/bundle.ts). */
export function memoryAddon(): MemoryAddon | undefined {
  return undefined;
}
