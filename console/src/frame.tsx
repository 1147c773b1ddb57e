import { Ellipsis, Languages, LogOut, Moon, Search, Sun, SunMoon, TriangleAlert, WifiOff } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { ServerInfo } from "../../src/contracts/server.ts";
import { useConnection } from "./connection.ts";
import { defineWords, useLanguage, useWords } from "./language.tsx";
import { useLiveState } from "./live.ts";
import { useNeedsYou } from "./needs-you.ts";
import type { Page } from "./page.ts";
import { Button } from "./parts/button.tsx";
import { Sheet } from "./parts/sheet.tsx";
import { VisibleText } from "./parts/visible-text.tsx";
import { PHONE_SECTIONS, type Section, SECTIONS } from "./sections.ts";
import { openPalette } from "./shortcuts.tsx";
import { signOut } from "./sign-in.ts";
import { useTheme } from "./theme.ts";

const words = defineWords({
  navigation: ["Sections", "栏目"],
  pages: ["Pages of this section", "本栏目的页面"],
  theme: (name: string) => [`Theme: ${name}`, `主题：${name}`],
  language: ["中文", "English"],
  signOut: ["Sign out", "退出"],
  live: ["Live", "实时"],
  reconnecting: ["Reconnecting…", "正在重连…"],
  away: [
    "Server not reachable, retrying. This page may be out of date.",
    "无法连接服务器，正在重试。页面内容可能已过时。",
  ],
  badConfig: [
    "A configuration file cannot be used. The last good one is in effect, with every deny and ask rule.",
    "有配置文件无法使用。上一次有效的配置仍然生效，并包括所有拒绝和询问规则。",
  ],
  restart: ["These settings were changed and need a restart:", "这些设置已更改，需要重启："],
  skip: ["Skip to the content", "跳到内容"],
  more: ["More", "更多"],
  search: ["Search", "搜索"],
  asks: (what: string, count: number) => [
    `A call waits for you: ${what}. ${count} in all.`,
    `有调用等你处理：${what}。共 ${count} 个。`,
  ],
  waiting: (count: number) => [`${count} waiting`, `${count} 个待处理`],
  themes: { light: ["Light", "浅色"], dark: ["Dark", "深色"], system: ["System", "跟随系统"] },
});

interface FrameProps {
  /** The pages that this server has. */
  pages: readonly Page[];
  current: Page | undefined;
  /** Open approvals and questions. */
  waiting: number;
  server: ServerInfo | undefined;
  children: ReactNode;
}

/** What surrounds every page: the sections in a side bar, or at the foot of a phone, and the tabs of the section. */
export function Frame({ pages, current, waiting, server, children }: FrameProps) {
  const w = useWords(words);
  const sections = SECTIONS.filter(({ id }) => pages.some(({ section }) => section === id));
  const entry = (section: Section): ReactNode => (
    <SectionLink key={section.id} section={section} pages={pages} current={current} waiting={waiting} />
  );
  return (
    <div className="frame">
      <a className="skip" href="#content" onClick={skipToContent}>
        {w.skip}
      </a>
      <aside className="stack side">
        <Link className="line brand" href="/">
          <img src="./haft.svg" alt="" />
          Haft
        </Link>
        <SearchButton />
        <nav aria-label={w.navigation}>{sections.map(entry)}</nav>
        <SideFoot server={server} />
      </aside>
      <main className="main" id="content" tabIndex={-1}>
        <NewQuestions isSilent={current?.section === "approvals"} />
        <OutageBanner />
        <ConfigurationBanner state={server?.configuration} />
        <SectionTabs pages={pages} current={current} />
        {children}
      </main>
      <nav className="bottom" aria-label={w.navigation}>
        {sections.filter(({ id }) => PHONE_SECTIONS.includes(id)).map(entry)}
        <More key={current?.path} isCurrent={current !== undefined && !PHONE_SECTIONS.includes(current.section)}>
          <SearchButton />
          <div className="side-links">{sections.filter(({ id }) => !PHONE_SECTIONS.includes(id)).map(entry)}</div>
          <SideFoot server={server} />
        </More>
      </nav>
    </div>
  );
}

function SearchButton() {
  const w = useWords(words);
  return (
    <button className="button search-button" onClick={openPalette}>
      <Search size={15} aria-hidden />
      <span className="grow">{w.search}</span>
      <kbd className="key">Ctrl K</kbd>
    </button>
  );
}

/** Tells screen readers of new questions, on every page but the one that says more about them. */
function NewQuestions({ isSilent }: { isSilent: boolean }) {
  const w = useWords(words);
  const { approvals, questions, count } = useNeedsYou();
  const known = useRef<ReadonlySet<string>>(undefined);
  const [news, setNews] = useState("");
  useEffect(() => {
    if (!approvals) return;
    const asked = [
      ...approvals.map(({ id, title, toolName, subject }) => ({ id, text: `${title ?? toolName} ${subject.text}` })),
      ...questions.map(({ id, server, message }) => ({ id, text: `${server}: ${message}` })),
    ];
    const fresh = known.current && asked.find(({ id }) => !known.current?.has(id));
    known.current = new Set(asked.map(({ id }) => id));
    if (fresh) setNews(w.asks(fresh.text, count));
  }, [approvals, questions, count, w]);
  return (
    <p className="sr-only" role="status">
      {isSilent ? "" : news}
    </p>
  );
}

/** The status region is always there: screen readers announce what is put into it. */
function OutageBanner() {
  const w = useWords(words);
  const { isReachable } = useConnection();
  return (
    <div role="status" className="outage">
      {isReachable ? null : (
        <p className="notice warn">
          <WifiOff size={16} aria-hidden />
          {w.away}
        </p>
      )}
    </div>
  );
}

/** Changed files of the configuration that are not in effect. */
function ConfigurationBanner({ state }: { state: ServerInfo["configuration"] }) {
  const w = useWords(words);
  const { problems = [], restartNeeded = [] } = state ?? {};
  return (
    <div role="status">
      {problems.length > 0 ? (
        <p className="notice bad">
          <TriangleAlert size={16} aria-hidden />
          <span>
            {w.badConfig} <VisibleText lang="en" text={problems.join(" ")} />
          </span>
        </p>
      ) : null}
      {restartNeeded.length > 0 ? (
        <p className="notice warn">
          <TriangleAlert size={16} aria-hidden />
          <span>
            {w.restart} <VisibleText className="mono" text={restartNeeded.join(", ")} />
          </span>
        </p>
      ) : null}
    </div>
  );
}

function SectionLink(props: { section: Section; pages: readonly Page[]; current: Page | undefined; waiting: number }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const { id, icon: Icon, words: texts } = props.section;
  const first = props.pages.find(({ section }) => section === id);
  const isCounted = id === "approvals" && props.waiting > 0;
  return (
    <Link href={`/${first?.path ?? ""}`} aria-current={props.current?.section === id ? "page" : undefined}>
      <Icon size={17} aria-hidden />
      <span>{texts[language].title}</span>
      {isCounted ? (
        <span className="count">
          {props.waiting > 99 ? "99+" : props.waiting}
          <span className="sr-only"> {w.waiting(props.waiting)}</span>
        </span>
      ) : null}
    </Link>
  );
}

function SectionTabs({ pages, current }: { pages: readonly Page[]; current: Page | undefined }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const tabs = pages.filter(({ section }) => section === current?.section);
  if (tabs.length < 2) return null;
  return (
    <nav className="section-tabs" aria-label={w.pages}>
      {tabs.map(({ path, icon: Icon, words: texts }) => (
        <Link key={path} href={`/${path}`} aria-current={path === current?.path ? "page" : undefined}>
          <Icon size={15} aria-hidden />
          {texts[language].title}
        </Link>
      ))}
    </nav>
  );
}

/** The other sections, in a sheet above the foot of a phone. */
function More({ isCurrent, children }: { isCurrent: boolean; children: ReactNode }) {
  const w = useWords(words);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        className={isCurrent ? "is-current" : undefined}
        onClick={() => setOpen(true)}
      >
        <Ellipsis size={17} aria-hidden />
        <span>{w.more}</span>
      </button>
      {isOpen ? (
        <Sheet title={w.more} onClose={() => setOpen(false)}>
          {children}
        </Sheet>
      ) : null}
    </>
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
    <footer className="stack side-foot">
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
        <Button
          look="plain small"
          icon={Icon}
          label={w.theme(w.themes[theme])}
          onClick={() => setTheme(order[(order.indexOf(theme) + 1) % order.length] ?? "system")}
        />
        <Button look="plain small" onClick={() => choose(language === "en" ? "zh" : "en")}>
          <Languages size={16} aria-hidden />
          {w.language}
        </Button>
        <Button look="plain small" icon={LogOut} label={w.signOut} onClick={() => void signOut()} />
      </div>
    </footer>
  );
}

function skipToContent(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}
