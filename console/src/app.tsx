import { Languages, LogOut, Moon, Sun, SunMoon } from "lucide-react";
import { Suspense, useEffect, useState } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import type { ServerInfo } from "../../src/contracts/server.ts";
import { api, ApiError, queries, useApi } from "./api.ts";
import { defineWords, useLanguage, useWords } from "./language.tsx";
import { useLive, useLiveState } from "./live.ts";
import { PAGES } from "./pages.ts";
import { useOpenQuestions } from "./pages/approvals/server-questions.tsx";
import { useFinishedSignIn } from "./pages/mcp/use-finished-sign-in.ts";
import { Failure } from "./parts/failure.tsx";
import { SignIn } from "./sign-in.tsx";
import { useTheme } from "./theme.ts";

const words = defineWords({
  en: {
    navigation: "Pages",
    theme: "Theme",
    language: "中文",
    signOut: "Sign out",
    live: "Live",
    reconnecting: "Reconnecting…",
    skip: "Skip to the content",
    loading: "Loading…",
    themes: { light: "Light", dark: "Dark", system: "System" },
  },
  zh: {
    navigation: "页面",
    theme: "主题",
    language: "English",
    signOut: "退出",
    live: "实时",
    reconnecting: "正在重连…",
    skip: "跳到内容",
    loading: "加载中…",
    themes: { light: "浅色", dark: "深色", system: "跟随系统" },
  },
});

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
  const w = useWords(words);
  const { language } = useLanguage();
  const [pathname] = useLocation();
  const server = useApi("server", "info", []);
  const parts = server.data?.parts;
  const requested = useOpenQuestions(parts?.includes("questions") ?? false).length;
  const open = (useApi("approvals", "list", [{ state: "pending" }]).data?.items.length ?? 0) + requested;
  const signInProblem = useFinishedSignIn();
  const pages = PAGES.filter(({ needs }) => needs === undefined || parts === undefined || parts.includes(needs));
  const current = pages.find(({ path }) => pathname.split("/")[1] === path);

  useEffect(() => {
    const title = current ? `${current.words[language].title} · Haft` : "Haft";
    document.title = open > 0 ? `(${open}) ${title}` : title;
  }, [open, current, language]);

  return (
    <div className="frame">
      <a className="sr-only" href="#content" onClick={skipToContent}>
        {w.skip}
      </a>
      <aside className="side">
        <Link className="brand" href="/">
          <img src="./haft.svg" alt="" />
          Haft
        </Link>
        <nav aria-label={w.navigation}>
          {pages.map(({ path, icon: Icon, words: { [language]: page } }) => (
            <Link key={path} href={`/${path}`} aria-current={current?.path === path ? "page" : undefined}>
              <Icon size={17} aria-hidden />
              {page.title}
              {path === "approvals" && open > 0 ? <span className="count">{open}</span> : null}
            </Link>
          ))}
        </nav>
        <SideFoot server={server.data} />
      </aside>
      <main className="main" id="content" tabIndex={-1}>
        {signInProblem ? <Failure error={signInProblem} /> : null}
        <Suspense fallback={<Loading />}>
          <Switch>
            {pages.map(({ path, view: View }) => (
              <Route key={path} path={`/${path}/*?`}>
                <View />
              </Route>
            ))}
            <Route>
              <Redirect to={open > 0 ? "/approvals" : "/tools"} replace />
            </Route>
          </Switch>
        </Suspense>
      </main>
    </div>
  );
}

function SideFoot({ server }: { server: ServerInfo | undefined }) {
  const w = useWords(words);
  const { language, choose } = useLanguage();
  const [theme, setTheme] = useTheme();
  const live = useLiveState();
  const order = ["system", "light", "dark"] as const;
  const Icon = { light: Sun, dark: Moon, system: SunMoon }[theme];
  return (
    <footer>
      {server?.workspace ? (
        <div className="cut mono" title={server.workspace}>
          {server.workspace.split(/[\\/]/).at(-1)}
        </div>
      ) : null}
      <div className="row">
        <span className={live === "open" ? "badge ok" : "badge warn"}>{live === "open" ? w.live : w.reconnecting}</span>
        <span>{server ? `v${server.version}` : ""}</span>
      </div>
      <div className="row">
        <button
          className="button plain small"
          title={`${w.theme}: ${w.themes[theme]}`}
          aria-label={`${w.theme}: ${w.themes[theme]}`}
          onClick={() => setTheme(order[(order.indexOf(theme) + 1) % order.length]!)}
        >
          <Icon size={16} aria-hidden />
        </button>
        <button className="button plain small" onClick={() => choose(language === "en" ? "zh" : "en")}>
          <Languages size={16} aria-hidden />
          {w.language}
        </button>
        <button
          className="button plain small"
          title={w.signOut}
          aria-label={w.signOut}
          onClick={() => void api.session.logout().finally(() => location.reload())}
        >
          <LogOut size={16} aria-hidden />
        </button>
      </div>
    </footer>
  );
}

function Loading() {
  return <div className="empty pulse">{useWords(words).loading}</div>;
}

function skipToContent(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

/** From the address that the server printed: `#login=…`. A browser does not send the fragment, so no log has it. */
function oneTimeToken(): string | undefined {
  return /^#login=([\w-]+)$/.exec(location.hash)?.[1];
}
