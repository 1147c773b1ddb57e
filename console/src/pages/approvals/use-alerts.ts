import { useEffect, useRef, useSyncExternalStore } from "react";
import { defineWords, useWords } from "../../language.tsx";
import type { NeedsYou } from "../../needs-you.ts";

const words = defineWords({
  one: ["A call waits for your approval", "有一个调用等待批准"],
  many: (count: number) => [`${count} calls wait for your approval`, `${count} 个调用等待批准`],
});

/** `plain`: without details, which others could read on a locked screen. */
export type AlertSetting = "off" | "plain" | "details";

const KEY = "haft.notify";
const watchers = new Set<() => void>();

function readSetting(): AlertSetting {
  const stored = localStorage.getItem(KEY);
  const isAllowed = "Notification" in globalThis && Notification.permission === "granted";
  return isAllowed && (stored === "plain" || stored === "details") ? stored : "off";
}

/** Whether this browser shows notifications. The browser asks for permission at the first choice. */
export function useAlertSetting(): [AlertSetting, (setting: AlertSetting) => Promise<void>] {
  const setting = useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, readSetting);
  const choose = async (next: AlertSetting): Promise<void> => {
    if (next !== "off" && "Notification" in globalThis) await Notification.requestPermission();
    localStorage.setItem(KEY, next);
    for (const watcher of watchers) watcher();
  };
  return [setting, choose];
}

/** Tells about new questions outside the page: a badge on the icon of an installed console, and notifications. */
export function useAlerts({ approvals: waiting, count }: Pick<NeedsYou, "approvals" | "count">): void {
  const w = useWords(words);
  const [setting] = useAlertSetting();
  const known = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (!waiting || !("setAppBadge" in navigator)) return;
    void (count === 0 ? navigator.clearAppBadge() : navigator.setAppBadge(count)).catch(() => undefined);
  }, [count, waiting]);
  useEffect(() => {
    if (!waiting) return;
    const fresh = waiting.filter(({ id }) => known.current && !known.current.has(id));
    known.current = new Set(waiting.map(({ id }) => id));
    const [first] = fresh;
    if (!first || setting === "off" || document.visibilityState === "visible") return;
    const title = fresh.length === 1 ? w.one : w.many(fresh.length);
    const shown = new Notification(title, {
      tag: "haft-approvals",
      body: setting === "details" ? `${first.title ?? first.toolName}: ${first.subject.text}` : undefined,
    });
    shown.onclick = () => {
      focus();
      location.hash = fresh.length === 1 ? `#/approvals/${encodeURIComponent(first.id)}` : "#/approvals";
      shown.close();
    };
  }, [waiting, setting, w]);
}
