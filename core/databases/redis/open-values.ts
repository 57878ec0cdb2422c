/** Types whose elements follow: a list, a map of keys and values, and an attribute, a map that describes the element after it. */
export type Aggregate = "list" | "map" | "attribute";

/**
 * Arrays and maps of RESP around the current value: for each, how many elements are still to come. A reply is one value at the top, which counts as an element
 * of its own.
 */
export class OpenValues {
  /** By depth; empty between two values. */
  readonly #left: number[] = [];
  readonly #maxDepth: number;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** Whether a value at the top comes next. */
  get isEmpty(): boolean {
    return this.#left.length === 0;
  }

  /** A value at the top begins. */
  begin(): void {
    this.#left.push(1);
  }

  /** A header with a number of elements, -1 for null: `empty`, and so complete; `open`; or `too deep`. */
  add(shape: Aggregate, length: number): "empty" | "open" | "too deep" {
    // An attribute comes before the element that it describes, and does not count.
    if (shape === "attribute") this.#left[this.#left.length - 1] = (this.#left.at(-1) ?? 0) + 1;
    if (length < 1) return "empty";
    if (this.#left.length >= this.#maxDepth) return "too deep";
    this.#left.push(shape === "list" ? length : length * 2);
    return "open";
  }

  /** An element is complete, and with it maybe those around it. True: the value at the top is. */
  complete(): boolean {
    while (this.#left.length > 0) {
      const left = (this.#left.pop() ?? 1) - 1;
      if (left === 0) continue;
      this.#left.push(left);
      return false;
    }
    return true;
  }
}
