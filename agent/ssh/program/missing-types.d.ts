/** node-pty ships no types for its native part. */
declare module "@lydell/node-pty/requireBinary.js" {
  export interface PtyAddon {
    /** openpty(3): both descriptors non-blocking, neither close-on-exec. */
    open(columns: number, rows: number): { readonly master: number; readonly slave: number; readonly pty: string };
    resize(master: number, columns: number, rows: number): void;
  }
  export function requireBinary(file: "pty.node"): PtyAddon;
}

/** Missing in @types/node 24. */
declare namespace NodeJS {
  interface Process {
    /** initgroups(3): the groups of a user, and one more. Root only. */
    initgroups?(user: string, extraGroup: number): void;
  }
}
