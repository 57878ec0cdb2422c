import { countText } from "../text/size.ts";

export interface CutNoteFacts {
  readonly count: number;
  readonly noun: string;
  /** How to find the others. */
  readonly more: string;
}

/** Below a list that is longer than what the page holds. */
export function CutNote({ count, noun, more }: CutNoteFacts) {
  return (
    <p class="quiet">
      Only {countText(count, noun)} are listed, and searched: {more}.
    </p>
  );
}
