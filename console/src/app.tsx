import { Suspense, useEffect, useState } from "react";
import { Redirect, Route, Switch, useLocation, useSearch } from "wouter";
import { useApi } from "./api.ts";
import { useConnection } from "./connection.ts";
import { Frame } from "./frame.tsx";
import { LOGIN_LINK, pathPart, replaceAddress } from "./hash-location.ts";
import { useLanguage } from "./language.tsx";
import { type LazyPage, lazyPage } from "./lazy-page.tsx";
import { useLive } from "./live.ts";
import { useNeedsYou } from "./needs-you.ts";
import { PAGES, welcomePage } from "./pages.ts";
import { useAlerts } from "./pages/approvals/use-alerts.ts";
import { useFinishedSignIn } from "./pages/mcp/use-finished-sign-in.ts";
import { useFirstRun } from "./pages/welcome/first-run.ts";
import { Failure } from "./parts/failure.tsx";
import { PageBoundary } from "./parts/page-boundary.tsx";
import { Skeleton } from "./parts/skeleton.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { signIn } from "./sign-in.ts";
import { useUndoQuestion } from "./undo.ts";

export function App() {
  const { isArriving, isStale } = useLoginLink();
  const { isSignedIn } = useConnection();
  const session = useApi("session", "show", isArriving ? undefined : []);
  if (isArriving || session.isPending) return <LoadingPage />;
  if (!session.data) {
    if (!isSignedIn) return <Later view={SignInPage} isStale={isStale} />;
    return session.error ? <Failure error={session.error} again={() => void session.refetch()} /> : <LoadingPage />;
  }
  return (
    <>
      <SignedIn />
      {isSignedIn ? null : <Later view={SignInDialog} isStale={isStale} />}
    </>
  );
}

// Most visits need none of these.
const SignInPage = lazyPage(() => import("./sign-in-form.tsx"));
const SignInDialog = lazyPage(async () => ({ default: (await import("./sign-in-form.tsx")).SignInDialog }));
const UndoDialog = lazyPage(() => import("./undo-dialog.tsx"));

function Later<Props extends object>({ view: View, ...props }: { view: LazyPage<Props> } & Props) {
  return (
    <PageBoundary onRetry={View.reset}>
      <Suspense>
        <View {...(props as unknown as Props)} />
      </Suspense>
    </PageBoundary>
  );
}

/** Problems of the configuration have no event. */
const SERVER_INTERVAL_MS = 10_000;

function SignedIn() {
  useLive();
  const { language } = useLanguage();
  const [pathname] = useLocation();
  const search = useSearch();
  const server = useApi("server", "info", [], { everyMs: SERVER_INTERVAL_MS });
  const parts = server.data?.parts;
  const needs = useNeedsYou();
  const { count: waiting } = needs;
  useAlerts(needs);
  const signInProblem = useFinishedSignIn();
  const isFirstRun = useFirstRun();
  const undoQuestion = useUndoQuestion();
  const pages = PAGES.filter(
    (page) =>
      (page.needs === undefined || parts === undefined || parts.includes(page.needs)) &&
      (page !== welcomePage || isFirstRun === true),
  );
  const current = pages.find(({ path }) => path === pathPart(pathname, 1));

  useEffect(() => {
    const title = current ? `${current.words[language].title} · Haft` : "Haft";
    document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  }, [waiting, current, language]);
  useEffect(() => {
    if (current) sessionStorage.setItem(PLACE, `#${pathname}${search && `?${search}`}`);
  }, [current, pathname, search]);

  return (
    <Frame pages={pages} current={current} waiting={waiting} server={server.data}>
      <Shortcuts pages={pages} hasSessions={parts?.includes("sessions") ?? false} />
      {undoQuestion ? <Later key={JSON.stringify(undoQuestion.conflicts)} view={UndoDialog} {...undoQuestion} /> : null}
      {signInProblem ? <Failure error={signInProblem} /> : null}
      <PageBoundary key={current?.path} onRetry={() => current?.view.reset()}>
        <Suspense fallback={<LoadingPage />}>
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
              {isFirstRun === undefined ? (
                <LoadingPage />
              ) : (
                <Redirect to={isFirstRun ? "/welcome" : waiting > 0 ? "/approvals" : "/work"} replace />
              )}
            </Route>
          </Switch>
        </Suspense>
      </PageBoundary>
    </Frame>
  );
}

function LoadingPage() {
  return (
    <div className="stack page">
      <Skeleton lines={6} />
    </div>
  );
}

/** The address of the page before the session ended. */
const PLACE = "haft.place";

/**
 * The link that the server or `haft login` printed: `#login=…`. A browser does not send the fragment, so no log has it. It
 * may be opened in a tab that shows a page: then only the fragment changes, and the page comes back.
 */
function useLoginLink(): { isArriving: boolean; isStale: boolean } {
  const [token, setToken] = useState(arrivedWith);
  const [isStale, setStale] = useState(false);
  useEffect(() => {
    const onChange = (): void => {
      const taken = takeToken();
      if (taken !== undefined) setToken(taken);
    };
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  useEffect(() => {
    if (token === undefined) return;
    exchangeOnce(token)
      .then(
        () => setStale(false),
        () => setStale(true),
      )
      .finally(() => setToken(undefined));
  }, [token]);
  return { isArriving: token !== undefined, isStale };
}

const used = new Map<string, Promise<void>>();

/** A link is valid once, and React may run an effect twice. */
function exchangeOnce(token: string): Promise<void> {
  const attempt = used.get(token) ?? signIn(token);
  used.set(token, attempt);
  return attempt;
}

/** Read once, before the first render: React may render twice. */
const arrivedWith = takeToken();

/** Removes the token from the address bar and the history at once. */
function takeToken(): string | undefined {
  const token = LOGIN_LINK.exec(location.hash)?.[1];
  if (token === undefined) return undefined;
  replaceAddress(sessionStorage.getItem(PLACE) ?? "#/");
  return token;
}
