/** Time for which reading on belongs to the view that began it, ms. */
const viewMs = 60 * 60 * 1000;
/** Maximum number of views that are remembered; the oldest is forgotten first. */
const maxViews = 10_000;

/** Views of recordings that are in the audit log already. */
export class RecentViews {
  readonly #views = new Map<string, number>();

  has(view: string, now: Date): boolean {
    const since = this.#views.get(view);
    return since !== undefined && now.getTime() - since < viewMs;
  }

  add(view: string, now: Date): void {
    this.#views.delete(view);
    this.#views.set(view, now.getTime());
    const [oldest] = this.#views.keys();
    if (oldest !== undefined && this.#views.size > maxViews) this.#views.delete(oldest);
  }
}
