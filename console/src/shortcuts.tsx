import { X } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { defineWords, type Pair, useWords } from "./language.tsx";
import { loadWithRetry } from "./lazy-page.tsx";
import type { Page } from "./page.ts";
import { Button } from "./parts/button.tsx";
import { Failure } from "./parts/failure.tsx";
import { describedKeys, useKeys } from "./parts/use-keys.ts";
import "./palette.css";

const words = defineWords({
  title: ["Keyboard shortcuts", "键盘快捷键"],
  close: ["Close", "关闭"],
  help: ["Show the shortcuts of this page", "显示此页面的快捷键"],
  palette: ["Go to a page, tool, session or call", "前往页面、工具、会话或调用"],
  paletteTitle: ["Go to or do", "前往或执行"],
  search: ["Search pages, tools, sessions, calls, commands…", "搜索页面、工具、会话、调用、命令…"],
  failed: [
    "The search could not be loaded. Try again when the server is reachable, or reload the console.",
    "无法加载搜索。请在服务器可用时重试，或重新加载控制台。",
  ],
  names: { " ": ["Space", "空格"] } as Readonly<Record<string, Pair>>,
});

const PALETTE_KEYS = "Ctrl K";
/** What the page shows comes first, also over a slow line. */
const PRELOAD_MS = 10_000;
let loading: Promise<PaletteModule> | undefined;

type PaletteModule = typeof import("./palette.tsx");

function load(): Promise<PaletteModule> {
  loading ??= loadWithRetry(() => import("./palette.tsx")).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

/** Opens the palette from anywhere: a button, or the keys. */
export function openPalette(): void {
  dispatchEvent(new Event("haft:palette"));
}

/** The palette (Ctrl or Cmd and K) and the help for the keys (?). */
export function Shortcuts({ pages, hasSessions }: { pages: readonly Page[]; hasSessions: boolean }) {
  const w = useWords(words);
  const [shown, setShown] = useState<"palette" | "keys">();
  const close = (): void => setShown(undefined);
  useKeys({ "?": { label: w.help, run: () => setShown("keys") } });
  useEffect(() => {
    const timer = setTimeout(() => void load().catch(() => undefined), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    const show = (): void => setShown("palette");
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) show();
    };
    addEventListener("keydown", onKey);
    addEventListener("haft:palette", show);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("haft:palette", show);
    };
  }, []);
  if (shown === "keys") return <KeyHelp onClose={close} />;
  if (shown !== "palette") return null;
  return <PaletteDialog pages={pages} hasSessions={hasSessions} onClose={close} onShowKeys={() => setShown("keys")} />;
}

interface PaletteDialogProps {
  pages: readonly Page[];
  hasSessions: boolean;
  onClose: () => void;
  onShowKeys: () => void;
}

/** Is open from the first key on: what the user types before the palette is loaded must not be a shortcut of the page. */
function PaletteDialog({ onClose, ...props }: PaletteDialogProps) {
  const w = useWords(words);
  const [search, setSearch] = useState("");
  const [loaded, setLoaded] = useState<PaletteModule>();
  const [hasFailed, setFailed] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const start = (): void => {
    setFailed(false);
    load().then(setLoaded, () => setFailed(true));
  };
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(start, []);
  const field = { className: "palette-input", placeholder: w.search, value: search };
  return (
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label={w.paletteTitle}
      onClose={onClose}
      onClick={({ target, currentTarget }) => {
        if (target === currentTarget) onClose();
      }}
    >
      {loaded ? (
        <loaded.default {...props} title={w.paletteTitle} field={field} onSearch={setSearch} onClose={onClose} />
      ) : (
        <input {...field} autoFocus aria-label={w.search} onChange={({ target }) => setSearch(target.value)} />
      )}
      {hasFailed ? <Failure error={new Error(w.failed)} again={start} /> : null}
    </dialog>
  );
}

function KeyHelp({ onClose }: { onClose: () => void }) {
  const w = useWords(words);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const keys = [{ key: PALETTE_KEYS, label: w.palette }, ...describedKeys()];
  const unique = [...new Map(keys.map((one) => [one.key, one])).values()];
  return (
    <dialog ref={dialog} className="dialog key-help" aria-labelledby="key-help-title" onClose={onClose}>
      <header className="row">
        <h2 id="key-help-title" className="grow">
          {w.title}
        </h2>
        <Button look="plain small" icon={X} aria-label={w.close} onClick={() => dialog.current?.close()} />
      </header>
      <dl>
        {unique.map(({ key, label }) => (
          <div key={key} className="key-line">
            <dt>
              <kbd className="key">{w.names[key] ?? key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
