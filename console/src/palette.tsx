import { Command } from "cmdk";
import { Activity, Keyboard, Languages, LogOut, MessagesSquare, ShieldQuestion, SunMoon, Wrench } from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { useLocation } from "wouter";
import { useApi, usePending } from "./api.ts";
import { defineWords, useLanguage, useWords } from "./language.tsx";
import type { Page } from "./page.ts";
import { RiskBadge } from "./parts/risk-badge.tsx";
import { useToolText } from "./parts/tool-text.ts";
import { OneLine } from "./parts/visible-text.tsx";
import { SECTIONS } from "./sections.ts";
import { signOut } from "./sign-in.ts";
import { useTheme } from "./theme.ts";

const words = defineWords({
  none: ["Nothing found", "没有找到"],
  approvals: ["Open approvals", "待审批"],
  pages: ["Pages", "页面"],
  tools: ["Tools", "工具"],
  sessions: ["Sessions", "会话"],
  calls: ["Recent calls", "最近的调用"],
  commands: ["Commands", "命令"],
  themes: {
    light: ["Light theme", "浅色主题"],
    dark: ["Dark theme", "深色主题"],
    system: ["Theme of the system", "跟随系统主题"],
  },
  language: ["中文", "English"],
  keys: ["Keyboard shortcuts", "键盘快捷键"],
  signOut: ["Sign out", "退出登录"],
});

const MAX_APPROVALS = 50;
const RECENT_CALLS = 30;

interface PaletteProps {
  pages: readonly Page[];
  hasSessions: boolean;
  title: string;
  field: { className: string; placeholder: string; value: string };
  onSearch: (search: string) => void;
  onClose: () => void;
  onShowKeys: () => void;
}

/** Goes to anything by typing a part of its name. The content of the dialog that is open while this code is loaded. */
export default function Palette(props: PaletteProps) {
  const { pages, hasSessions, title: label, onClose, onShowKeys } = props;
  const w = useWords(words);
  const { language, choose } = useLanguage();
  const [, setTheme] = useTheme();
  const [, go] = useLocation();
  const input = useRef<HTMLInputElement>(null);
  const toolText = useToolText();
  const tools = useApi("tools", "list", []).data?.items ?? [];
  const approvals = usePending().data ?? [];
  const sessions = useApi("sessions", "list", hasSessions ? [{ limit: 100 }] : undefined).data?.items ?? [];
  const calls = useApi("calls", "list", [{ limit: RECENT_CALLS }]).data?.items ?? [];
  // Takes over from the field of the dialog in the same commit: no key is lost.
  useLayoutEffect(() => {
    const typed = props.field.value.length;
    input.current?.focus();
    input.current?.setSelectionRange(typed, typed);
  }, []);
  const doing = (act: () => void) => (): void => {
    onClose();
    act();
  };
  const to = (path: string) => doing(() => go(path));
  return (
    <Command label={label} loop>
      <Command.Input ref={input} {...props.field} onValueChange={props.onSearch} />
      <Command.List className="palette-list" label={label}>
        <Command.Empty className="palette-empty">{w.none}</Command.Empty>
        {approvals.length > 0 ? (
          <Command.Group heading={w.approvals}>
            {approvals.slice(0, MAX_APPROVALS).map(({ id, toolName, subject, risk }) => (
              <Item key={id} id={`approval ${id}`} words={[toolName, subject.text]} onSelect={to(`/approvals/${id}`)}>
                <ShieldQuestion size={15} aria-hidden />
                <Named name={toolName} text={subject.text} />
                <RiskBadge level={risk.level} short />
              </Item>
            ))}
          </Command.Group>
        ) : null}
        <Command.Group heading={w.pages}>
          {pages.map(({ path, section, icon: Icon, words: texts }) => {
            const inside = SECTIONS.find(({ id }) => id === section)?.words[language].title ?? "";
            const { title } = texts[language];
            return (
              <Item key={path} id={`page ${path}`} words={[title, inside, path]} onSelect={to(`/${path}`)}>
                <Icon size={15} aria-hidden />
                <span>{title}</span>
                {inside === title ? null : <span className="muted small">{inside}</span>}
              </Item>
            );
          })}
        </Command.Group>
        <Command.Group heading={w.commands}>
          {(["light", "dark", "system"] as const).map((theme) => (
            <Item key={theme} id={`theme ${theme}`} words={[w.themes[theme]]} onSelect={doing(() => setTheme(theme))}>
              <SunMoon size={15} aria-hidden />
              {w.themes[theme]}
            </Item>
          ))}
          <Item
            id="language"
            words={[w.language, "language"]}
            onSelect={doing(() => choose(language === "en" ? "zh" : "en"))}
          >
            <Languages size={15} aria-hidden />
            {w.language}
          </Item>
          <Item id="keys" words={[w.keys]} onSelect={doing(onShowKeys)}>
            <Keyboard size={15} aria-hidden />
            {w.keys}
            <kbd className="key">?</kbd>
          </Item>
          <Item id="sign out" words={[w.signOut]} onSelect={doing(() => void signOut())}>
            <LogOut size={15} aria-hidden />
            {w.signOut}
          </Item>
        </Command.Group>
        {sessions.length > 0 ? (
          <Command.Group heading={w.sessions}>
            {sessions.map(({ key, label = "" }) => (
              <Item
                key={key}
                id={`session ${key}`}
                words={[key, label]}
                onSelect={to(`/sessions/${encodeURIComponent(key)}`)}
              >
                <MessagesSquare size={15} aria-hidden />
                <Named name={key} text={label === key ? "" : label} />
              </Item>
            ))}
          </Command.Group>
        ) : null}
        {calls.length > 0 ? (
          <Command.Group heading={w.calls}>
            {calls.map(({ callId, toolName, subject }) => (
              <Item
                key={callId}
                id={`call ${callId}`}
                words={[toolName, subject?.text ?? "", callId]}
                onSelect={to(`/work/${encodeURIComponent(callId)}`)}
              >
                <Activity size={15} aria-hidden />
                <Named name={toolName} text={subject?.text ?? ""} />
              </Item>
            ))}
          </Command.Group>
        ) : null}
        <Command.Group heading={w.tools}>
          {tools.map((tool) => (
            <Item
              key={tool.name}
              id={`tool ${tool.name}`}
              words={[tool.name, toolText(tool).title, tool.title]}
              onSelect={to(`/tools/${encodeURIComponent(tool.name)}`)}
            >
              <Wrench size={15} aria-hidden />
              <Named name={tool.name} text={toolText(tool).title} />
            </Item>
          ))}
        </Command.Group>
      </Command.List>
    </Command>
  );
}

function Item(props: { id: string; words: string[]; onSelect: () => void; children: ReactNode }) {
  return (
    <Command.Item className="palette-item" value={props.id} keywords={props.words} onSelect={props.onSelect}>
      {props.children}
    </Command.Item>
  );
}

function Named({ name, text }: { name: string; text: string }) {
  return (
    <>
      <span className="mono">
        <OneLine text={name} />
      </span>
      <span className="muted cut grow">
        <OneLine text={text.slice(0, 200)} />
      </span>
    </>
  );
}
