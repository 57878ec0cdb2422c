import { ObjectId } from "bson";
import { MongoStore } from "./mongo-store.ts";

/** What the members of a replica set have in common; its members join as they open. */
export class MongoSet {
  readonly name: string;
  readonly store = new MongoStore();
  readonly members: string[] = [];
  readonly #watchers = new Set<() => void>();
  #primary: string | undefined;
  /** How often the set has changed. */
  changes = 0;
  electionId = new ObjectId();

  constructor(name: string) {
    this.name = name;
  }

  get primary(): string | undefined {
    return this.#primary;
  }

  /** Makes this member the primary, or none; the members report it to those that wait. */
  elect(member: string | undefined): void {
    this.#primary = member;
    this.changes += 1;
    this.electionId = new ObjectId();
    for (const notify of [...this.#watchers]) notify();
  }

  watch(notify: () => void): () => void {
    this.#watchers.add(notify);
    return () => void this.#watchers.delete(notify);
  }
}
