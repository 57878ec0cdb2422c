import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "../api/load.ts";
import { EnterCode } from "../confirm/enter-code.tsx";
import { type CodeQuestion, isUnconfirmed } from "../confirm/use-code.tsx";
import { place } from "../router/location.ts";
import { sentenceOf } from "./notice.tsx";

export interface PageFacts {
  readonly title: string;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The frame of a page. Its heading gets the focus when the reader comes, so that a screen reader reads it. */
export function Page({ title, actions, children }: PageFacts) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = place.value;
  // Once for each path.
  useEffect(() => {
    document.title = `${title} · platform`;
    if (document.activeElement === null || document.activeElement === document.body || document.activeElement.closest("nav, dialog") !== null)
      heading.current?.focus({ preventScroll: true });
  }, [title, path]);
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

export interface AnswerFacts<T> {
  readonly of: Loaded<T>;
  /** For what needs a one-time code: it is loaded again with what the code confirms. */
  readonly question?: CodeQuestion | undefined;
  readonly children: (value: T) => ComponentChildren;
}

/** What is shown of an answer: the content as soon as there is one, an error above it, and a line while the first one is on its way. */
export function Answer<T>({ of, question, children }: AnswerFacts<T>) {
  const { error, isLoading, reload } = of;
  // What answers another question is not shown beside the failure of this one.
  const value = error === undefined || of.isCurrent ? of.value : undefined;
  return (
    <>
      {isUnconfirmed(error) && question !== undefined ? (
        <EnterCode error={error} question={question} />
      ) : (
        error !== undefined && (
          <div class="problem" role="alert">
            <span>{sentenceOf(error)}</span>
            <button type="button" onClick={reload}>
              Try again
            </button>
          </div>
        )
      )}
      {value === undefined ? isLoading && error === undefined && <p class="quiet late">Loading…</p> : children(value)}
    </>
  );
}

/** An empty list: what would be here, and what to do first. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
