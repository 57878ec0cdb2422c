import type { ListedDatabase } from "../../core/api/web/served.ts";
import { call } from "../api/request.ts";
import { person } from "../api/session.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { databaseLines } from "../text/database-lines.ts";
import { OwnAccess, OwnAccessButton } from "./own-access.tsx";
import { ServedList } from "./served-list.tsx";

/** The databases that the user may reach, with the command lines for each. */
export function Databases() {
  return (
    <ServedList<ListedDatabase>
      of={{
        resource: "db",
        labels: "db_labels",
        title: "Databases",
        noun: "database",
        load: async (signal) => (await call<{ databases: readonly ListedDatabase[] }>("/databases", { signal })).databases,
        type: { title: "Protocol", of: ({ protocol }) => protocol },
        facts: ({ accounts }) => ({ first: [], last: [["Accounts", accountsText(accounts)]] }),
        connect: Connect,
        actions: <OwnAccessButton />,
        first: (
          <>
            List one under <code>db_service</code> of an agent, or create a <code>db</code> resource that an agent's labels match.
          </>
        ),
      }}
    />
  );
}

function accountsText(accounts: readonly string[]): string {
  return accounts.length === 0 ? "none: your roles do not name any" : accounts.map((one) => (one === "*" ? "any" : one)).join(", ");
}

function Connect({ row }: { readonly row: ListedDatabase }) {
  const { login, connect, local } = databaseLines(row, person.value?.proxy ?? "", person.value?.user ?? "");
  return (
    <>
      <h3>Connect</h3>
      <p>Log in on your computer first, then open the database's own client:</p>
      <CommandLine line={login} />
      <CommandLine line={connect} />
      <p>Or open a local port for any other client:</p>
      <CommandLine line={local} />
      <h3>Check your access</h3>
      <OwnAccess database={row.name} />
    </>
  );
}
