/** Missing in @types/node 24. */
declare namespace NodeJS {
  interface Process {
    /** initgroups(3): the groups of a user, and one more. Root only. */
    initgroups?(user: string, extraGroup: number): void;
  }
}
