/** Maximum names of one session, and characters of all their texts. */
const maxNames = 512;
const maxCharacters = 262_144;

/** Texts by name; the ones that were set first are forgotten first. */
export class BoundedTexts {
  readonly #texts = new Map<string, string>();
  #characters = 0;

  get(name: string): string | undefined {
    return this.#texts.get(name);
  }

  set(name: string, text: string): void {
    this.delete(name);
    this.#texts.set(name, text);
    this.#characters += text.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#texts.size <= maxNames && this.#characters <= maxCharacters) return;
      this.delete(oldest);
    }
  }

  delete(name: string): void {
    this.#characters -= this.#texts.get(name)?.length ?? 0;
    this.#texts.delete(name);
  }

  clear(): void {
    this.#texts.clear();
    this.#characters = 0;
  }
}
