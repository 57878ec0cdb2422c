import { useState } from "preact/hooks";
import type { BrowserSession } from "../../core/api/web/browser-sessions.ts";
import { useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { logOut, person } from "../api/session.ts";
import { AskFirst } from "../parts/ask-first.tsx";
import { CommandLine } from "../parts/command-line.tsx";
import { Facts } from "../parts/facts.tsx";
import { notify, notifyError } from "../parts/notice.tsx";
import { Answer, Page } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { browserName } from "../text/browser-name.ts";
import { AuthenticatorButton } from "./authenticator-button.tsx";
import { Passkeys } from "./passkeys.tsx";
import { PasswordButton } from "./password-button.tsx";

/** The user's own account: roles, logged-in browsers, and the ways out. */
export function Account() {
  const [isAsked, ask] = useState(false);
  const [turn, setTurn] = useState(0);
  const changed = (): void => setTurn((before) => before + 1);
  const { user = "", roles = [], proxy = "", version = "" } = person.value ?? {};
  return (
    <Page
      title="Your account"
      actions={
        <button type="button" onClick={() => void logOut().catch(notifyError)}>
          Log out
        </button>
      }
    >
      <Facts
        of={[
          ["User", user],
          ["Roles", roles.join(", ")],
          ["Proxy", `${proxy}, version ${version}`],
        ]}
      />
      <section>
        <h2>Browsers</h2>
        <Browsers key={turn} />
        <p class="buttons">
          <button type="button" class="danger" onClick={() => ask(true)}>
            Log out everywhere
          </button>
        </p>
      </section>
      <section>
        <h2>Command line</h2>
        <CommandLine line={`tsh login --proxy=${proxy} --user=${user}`} />
      </section>
      <section>
        <h2>Passkeys</h2>
        <Passkeys key={turn} changed={changed} />
      </section>
      <Secrets user={user} changed={changed} />
      {isAsked && (
        <AskFirst
          title="Log out everywhere?"
          text="All your sessions in browsers end at once, this one too, and so do the applications and terminals that they have open."
          verb="Log out everywhere"
          close={() => ask(false)}
          act={() => logOut({ everywhere: true })}
        />
      )}
    </Page>
  );
}

/** What the user proves to be the user with, besides passkeys. */
function Secrets({ user, changed }: { readonly user: string; readonly changed: () => void }) {
  return (
    <section>
      <h2>Password and authenticator</h2>
      <p class="buttons">
        <PasswordButton user={user} changed={changed} />
        <AuthenticatorButton user={user} changed={changed} />
      </p>
      <p>
        Lost your password or your authenticator, so that you cannot change them here? Ask an administrator for a reset link: with it you set new
        ones, which nobody else sees.
      </p>
    </section>
  );
}

/** The browsers in which the user is logged in; each other one can be logged out. */
function Browsers() {
  const loaded = useLoaded("browsers", async (signal) => (await call<{ sessions: readonly BrowserSession[] }>("/sessions", { signal })).sessions);
  const end = async (id: string): Promise<void> => {
    try {
      await call(`/sessions/${encodeURIComponent(id)}`, { method: "DELETE" });
      notify("That browser is logged out.");
      loaded.reload();
    } catch (thrown) {
      notifyError(thrown);
    }
  };
  return (
    <Answer of={loaded}>
      {(sessions) => (
        <Table
          caption="Browsers in which you are logged in"
          columns={columnsOf(end)}
          rows={sessions}
          keyOf={({ id }) => id}
          order={{ id: "used", down: true }}
        />
      )}
    </Answer>
  );
}

function columnsOf(end: (id: string) => Promise<void>): readonly Column<BrowserSession>[] {
  return [
    {
      id: "browser",
      title: "Browser",
      by: ({ agent }) => browserName(agent),
      share: 3,
      cell: ({ agent, is_current: isCurrent }) => (
        <span title={agent}>
          {browserName(agent)}
          {isCurrent && " (this one)"}
        </span>
      ),
    },
    { id: "address", title: "Address", by: ({ address }) => address, wide: true, cell: ({ address }) => address },
    { id: "used", title: "Last used", by: ({ last_used: used }) => Date.parse(used), cell: ({ last_used: used }) => <TimeText at={used} ago /> },
    { id: "expires", title: "Ends", by: ({ expires }) => Date.parse(expires), wide: true, cell: ({ expires }) => <TimeText at={expires} ago /> },
    {
      id: "end",
      title: "Actions",
      cell: ({ id, agent, is_current: isCurrent }) =>
        !isCurrent && (
          <button type="button" aria-label={`Log out ${browserName(agent)}`} onClick={() => void end(id)}>
            Log out
          </button>
        ),
    },
  ];
}
