import { call } from "./request.ts";

/** Bound of the pages of one list: 1,000 entries each. */
const mostPages = 100;

/** A list that came in pages. */
export interface PagedList<T> {
  readonly entries: readonly T[];
  /** There are more. */
  readonly isCut: boolean;
}

/** All entries of a list that comes in pages, up to the bound. */
export async function callPages<Page extends { readonly cursor: string }, T>(
  path: string,
  {
    query = {},
    signal,
    entries,
  }: { readonly query?: Readonly<Record<string, string>>; readonly signal?: AbortSignal; entries(page: Page): readonly T[] },
): Promise<PagedList<T>> {
  const all: T[] = [];
  let cursor = "";
  for (let count = 0; count < mostPages; count += 1) {
    const page = await call<Page>(path, { query: { ...query, cursor }, signal });
    all.push(...entries(page));
    cursor = page.cursor;
    if (cursor === "") break;
  }
  return { entries: all, isCut: cursor !== "" };
}
