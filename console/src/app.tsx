import { Suspense, useEffect, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { api, ApiError, queries, useApi } from "./api.ts";
import { Frame } from "./frame.tsx";
import { pathPart } from "./hash-location.ts";
import { defineWords, useLanguage, useWords } from "./language.tsx";
import { useLive } from "./live.ts";
import { PAGES } from "./pages.ts";
import { useOpenQuestions } from "./pages/approvals/server-questions.tsx";
import { useFinishedSignIn } from "./pages/mcp/use-finished-sign-in.ts";
import { Failure } from "./parts/failure.tsx";
import { SignIn } from "./sign-in.tsx";

const words = defineWords({ en: { loading: "Loading…" }, zh: { loading: "加载中…" } });

export function App() {
  const session = useApi("session", "show", []);
  const [arriving, setArriving] = useState(() => oneTimeToken());
  const { refetch } = session;
  useEffect(() => {
    if (arriving === undefined) return;
    // Remove the token from the address bar and the history first.
    history.replaceState(null, "", `${location.pathname}#/`);
    void api.session
      .login({ token: arriving })
      .catch(() => undefined)
      .finally(() => {
        setArriving(undefined);
        void refetch();
      });
  }, [arriving, refetch]);

  if (arriving !== undefined || session.isPending) return <Loading />;
  if (session.error instanceof ApiError && session.error.status === 401) {
    return <SignIn onSignedIn={() => void queries.invalidateQueries()} />;
  }
  if (session.error) return <Failure error={session.error} again={() => void refetch()} />;
  return <SignedIn />;
}

function SignedIn() {
  useLive();
  const { language } = useLanguage();
  const [pathname] = useLocation();
  const server = useApi("server", "info", []);
  const parts = server.data?.parts;
  const requested = useOpenQuestions(parts?.includes("questions") ?? false).length;
  const waiting = (useApi("approvals", "list", [{ state: "pending" }]).data?.items.length ?? 0) + requested;
  const signInProblem = useFinishedSignIn();
  const pages = PAGES.filter(({ needs }) => needs === undefined || parts === undefined || parts.includes(needs));
  const current = pages.find(({ path }) => path === pathPart(pathname, 1));

  useEffect(() => {
    const title = current ? `${current.words[language].title} · Haft` : "Haft";
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }, [waiting, current, language]);

  return (
    <Frame pages={pages} current={current} waiting={waiting} server={server.data}>
      {signInProblem ? <Failure error={signInProblem} /> : null}
      <Suspense fallback={<Loading />}>
        <Switch>
          {pages.map(({ path, view: View }) => (
            <Route key={path} path={`/${path}/*?`}>
              <View />
            </Route>
          ))}
          {pages.flatMap(({ path, aliases = [] }) =>
            aliases.map((alias) => (
              <Route key={alias} path={`/${alias}/*?`}>
                <Redirect to={pathname.replace(`/${alias}`, `/${path}`)} replace />
              </Route>
            )),
          )}
          <Route>
            <Redirect to={waiting > 0 ? "/approvals" : "/tools"} replace />
          </Route>
        </Switch>
      </Suspense>
    </Frame>
  );
}

function Loading() {
  return <div className="empty pulse">{useWords(words).loading}</div>;
}

/** From the address that the server printed: `#login=…`. A browser does not send the fragment, so no log has it. */
function oneTimeToken(): string | undefined {
  return /^#login=([\w-]+)$/.exec(location.hash)?.[1];
}
