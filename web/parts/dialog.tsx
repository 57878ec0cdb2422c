import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export interface DialogFacts {
  readonly title: string;
  /** Called when it closes, by its button, by Escape, or by a click beside it. */
  readonly close: () => void;
  readonly children: ComponentChildren;
  /** As wide as the page allows, for texts and tables. */
  readonly wide?: boolean;
}

/** A dialog before the page: focus stays within it, and returns to where it was. */
export function Dialog({ title, close, children, wide = false }: DialogFacts) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it already
    <dialog
      ref={element}
      class={wide ? "wide" : ""}
      aria-labelledby={id}
      onClose={close}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={() => element.current?.close()}>
            ×
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
