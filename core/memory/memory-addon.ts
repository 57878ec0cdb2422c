/** memory-addon.c, compiled. */
export interface MemoryAddon {
  release(): void;
}

/** There is none from source: the build puts its loader in the place of this file (scripts/build/bundle.ts). */
export function memoryAddon(): MemoryAddon | undefined {
  return undefined;
}
