import { Account } from "./pages/account.tsx";
import { Explain } from "./pages/explain.tsx";
import { Updates } from "./pages/updates.tsx";

/** Pages that are seldom the first: one file, which is fetched when one of them is opened. */
export const laterPages = { Account, Explain, Updates } as const;
