import { useState } from "preact/hooks";
import { isLoggedOut } from "./api/request.ts";
import { person } from "./api/session.ts";
import { LoginAgain } from "./pages/login-again.tsx";
import { Palette } from "./palette/palette.tsx";
import { Notices } from "./parts/notice.tsx";
import { Empty, Page } from "./parts/page.tsx";
import { hrefOf, place } from "./router/location.ts";
import { matchRoute } from "./router/match-route.ts";
import { namedRoutes, type PageRoute, shownRoutes } from "./routes.tsx";

/** Everything around a page: navigation, command palette, notices, and the login when the session has ended. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const shown = shownRoutes();
  const { path } = place.value;
  const route = path === "/" ? shown[0] : shown.find((one) => matchRoute(one.path, path) !== undefined);
  const Content = route?.page ?? NotFound;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <button type="button" class="menu" aria-expanded={isMenuOpen} aria-controls="navigation" onClick={() => setMenuOpen(!isMenuOpen)}>
          Menu
        </button>
        <span class="cluster">{person.value?.cluster}</span>
        <Palette />
        <a class="user" href={hrefOf("/account")}>
          {person.value?.user}
        </a>
      </header>
      <div class="middle">
        <Navigation routes={namedRoutes()} current={route} isOpen={isMenuOpen} close={() => setMenuOpen(false)} />
        <main id="content" tabIndex={-1}>
          <Content key={route?.path} />
        </main>
      </div>
      <Notices />
      {isLoggedOut.value && <LoginAgain />}
    </>
  );
}

interface NavigationFacts {
  readonly routes: readonly PageRoute[];
  readonly current: PageRoute | undefined;
  readonly isOpen: boolean;
  readonly close: () => void;
}

function Navigation({ routes, current, isOpen, close }: NavigationFacts) {
  const groups = [...new Set(routes.map(({ group }) => group))];
  return (
    <nav id="navigation" class={isOpen ? "open" : ""} aria-label="Pages">
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          <ul>
            {routes
              .filter((route) => route.group === group)
              .map(({ path, title }) => (
                <li key={path}>
                  <a href={hrefOf(path)} aria-current={path === current?.path ? "page" : undefined} onClick={close}>
                    {title}
                  </a>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="This page does not exist, or you may not see it">
        <p>
          <a href={hrefOf("/hosts")}>Go to the hosts</a>
        </p>
      </Empty>
    </Page>
  );
}
