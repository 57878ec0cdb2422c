/** memory-addon.c, compiled. */
export interface MemoryAddon {
  release(): void;
}

/** Unavailable from source: the build replaces this file with its loader (scripts/build/bundle.ts). */
export function memoryAddon(): MemoryAddon | undefined {
  return undefined;
}
