import { LogOut } from "lucide-react";
import type { ServerInfo } from "../../../../src/contracts/server.ts";
import { useApi, useScope } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { useNeedsYou } from "../../needs-you.ts";
import { Button } from "../../parts/button.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { signOut } from "../../sign-in.ts";
import { useAlertSetting } from "../approvals/use-alerts.ts";
import { useTheme } from "../../theme.ts";
import { Hooks } from "./hooks.tsx";
import { Tokens } from "./tokens.tsx";

const words = defineWords({
  title: ["Settings", "设置"],
  lead: ["This browser, this server and its tokens.", "此浏览器、此服务器及其令牌。"],
  browser: ["This browser", "此浏览器"],
  language: ["Language", "语言"],
  theme: ["Theme", "主题"],
  themes: { system: ["Like the system", "跟随系统"], light: ["Light", "浅色"], dark: ["Dark", "深色"] },
  alerts: ["Notifications", "通知"],
  alertChoices: { off: ["Off", "关闭"], plain: ["Without details", "不含详情"], details: ["With details", "包含详情"] },
  you: ["Signed in as", "登录身份"],
  scopes: ["May", "权限"],
  until: ["Until", "有效期至"],
  signOut: ["Sign out", "退出登录"],
  server: ["Server", "服务器"],
  version: ["Version", "版本"],
  started: ["Started", "启动于"],
  workspace: ["Folder", "文件夹"],
  store: ["Store", "存储"],
  sandbox: ["Sandbox", "沙箱"],
  enforced: (kind: string) => [`${kind}: commands are confined`, `${kind}：命令受到限制`],
  notEnforced: (kind: string) => [
    `${kind}: commands are not confined, and each needs approval`,
    `${kind}：命令不受限制，每次都会询问`,
  ],
  load: ["Calls now", "当前调用"],
  loadText: (running: number, queued: number, asked: number) => [
    `${running} running, ${queued} queued, ${asked} waiting for a person`,
    `${running} 个运行中，${queued} 个排队，${asked} 个等待处理`,
  ],
  warnings: ["Warnings", "警告"],
  noWarnings: ["None", "无"],
});

export default function SettingsView() {
  const w = useWords(words);
  const mayManage = useScope("admin");
  return (
    <PageFrame title={w.title} lead={w.lead}>
      <BrowserSettings />
      <ServerFacts />
      <Hooks />
      {mayManage ? <Tokens /> : null}
    </PageFrame>
  );
}

function BrowserSettings() {
  const w = useWords(words);
  const { language, choose } = useLanguage();
  const [theme, setTheme] = useTheme();
  const [alerts, setAlerts] = useAlertSetting();
  const session = useApi("session", "show", []).data;
  return (
    <Panel
      title={w.browser}
      actions={<Button look="small" icon={LogOut} text={w.signOut} onClick={() => void signOut()} />}
    >
      <Facts
        className="settings"
        facts={[
          [
            w.language,
            <Tabs label={w.language} tabs={{ en: "English", zh: "中文" }} chosen={language} onChoose={choose} />,
          ],
          [w.theme, <Tabs label={w.theme} tabs={w.themes} chosen={theme} onChoose={setTheme} />],
          [
            w.alerts,
            <Tabs
              label={w.alerts}
              tabs={w.alertChoices}
              chosen={alerts}
              onChoose={(setting) => void setAlerts(setting)}
            />,
          ],
          [w.you, session && <VisibleText text={session.name} />],
          [w.scopes, session?.scopes.join(", "), "mono"],
          [w.until, session?.expiresAt && <TimeAgo at={session.expiresAt} />],
        ]}
      />
    </Panel>
  );
}

function ServerFacts() {
  const w = useWords(words);
  const query = useApi("server", "info", []);
  const asked = useNeedsYou().count;
  const { data } = query;
  if (!data) return <Loaded query={query}>{() => null}</Loaded>;
  const { store, sandbox, load, warnings } = data;
  return (
    <Panel title={w.server} actions={<span className="muted mono">v{data.version}</span>}>
      <Facts
        className="settings"
        facts={[
          [w.started, <TimeAgo at={data.startedAt} />],
          [w.workspace, <VisibleText text={data.workspace ?? "–"} />, "mono"],
          [w.store, store && <VisibleText text={[store.kind, store.place].filter(Boolean).join(" · ")} />, "mono"],
          [w.sandbox, sandbox && <SandboxFact {...sandbox} />],
          [w.load, w.loadText(load.running, load.waiting, asked)],
          [w.warnings, warnings.length === 0 ? w.noWarnings : <Warnings texts={warnings} />],
        ]}
      />
    </Panel>
  );
}

function SandboxFact({ kind, enforced, reason }: NonNullable<ServerInfo["sandbox"]>) {
  const w = useWords(words);
  return (
    <>
      <span className={enforced ? "badge ok" : "badge warn"}>{enforced ? w.enforced(kind) : w.notEnforced(kind)}</span>
      {reason ? <p className="small muted">{reason}</p> : null}
    </>
  );
}

function Warnings({ texts }: { texts: readonly string[] }) {
  return (
    <ul className="notes">
      {texts.map((text) => (
        <VisibleText key={text} as="li" text={text} />
      ))}
    </ul>
  );
}
