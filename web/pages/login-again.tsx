import { useEffect, useRef } from "preact/hooks";
import { forget, person, takeUp } from "../api/session.ts";
import { useKeptOpen } from "../parts/keep-open.ts";
import { Login } from "./login.tsx";

/**
 * The login over the page and its dialogs: all stays as it is, and goes on after it. Only a login of the same user closes it, here or in another tab of the
 * browser.
 */
export function LoginAgain() {
  const element = useRef<HTMLDialogElement>(null);
  useKeptOpen(true, element);
  useEffect(() => {
    element.current?.showModal();
    const look = (): void => void (document.hidden || takeUp());
    look();
    // Windows side by side are visible all the time.
    document.addEventListener("visibilitychange", look);
    window.addEventListener("focus", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("focus", look);
    };
  }, []);
  return (
    <dialog
      ref={element}
      class="cover"
      aria-label="Log in again"
      // Some systems have other ways to close what is in front.
      onClose={(event) => event.currentTarget.showModal()}
    >
      <div class="alone">
        <h2>Your session has ended</h2>
        <p>Log in again to go on where you are.</p>
        <Login user={person.value?.user ?? ""} />
        <p>
          <button type="button" class="plain" onClick={forget}>
            Log in as another user
          </button>
        </p>
      </div>
    </dialog>
  );
}
