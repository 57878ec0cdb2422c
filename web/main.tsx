import { render } from "preact";
import { noticeUse } from "./api/page-use.ts";
import { isReady, person, resume } from "./api/session.ts";
import { LoginPage } from "./pages/login.tsx";
import { Notices, notifyError } from "./parts/notice.tsx";
import { followLinks } from "./router/location.ts";
import { Shell } from "./shell.tsx";

/** The Web UI: the login until there is a session, then its pages. */
function App() {
  if (!isReady.value) return <p class="starting">Loading…</p>;
  if (person.value !== undefined) return <Shell />;
  return (
    <>
      <LoginPage />
      <Notices />
    </>
  );
}

const root = document.getElementById("app");
if (root !== null) {
  root.replaceChildren();
  followLinks();
  noticeUse(window);
  render(<App />, root);
  resume().catch(notifyError);
}
