import { Suspense, useEffect, useState } from "react";
import { defineWords, useWords } from "./language.tsx";
import { lazyPage, loadWithRetry } from "./lazy-page.tsx";
import type { Page } from "./page.ts";
import { openModal } from "./parts/dialog.tsx";
import { Failure } from "./parts/failure.tsx";
import { useKeys } from "./parts/use-keys.ts";
import "./palette.css";

const words = defineWords({
  help: ["Show the shortcuts of this page", "显示此页面的快捷键"],
  paletteTitle: ["Go to or do", "前往或执行"],
  search: ["Search pages, tools, sessions, calls, commands…", "搜索页面、工具、会话、调用、命令…"],
  failed: [
    "The search could not be loaded. Try again when the server is reachable, or reload the console.",
    "无法加载搜索。请在服务器可用时重试，或重新加载控制台。",
  ],
});

const loadKeys = () => import("./key-help.tsx");
const KeyHelp = lazyPage(loadKeys);
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
    const timer = setTimeout(() => Promise.all([load(), loadKeys()]).catch(() => undefined), PRELOAD_MS);
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
  if (shown === "keys") {
    return (
      <Suspense>
        <KeyHelp onClose={close} />
      </Suspense>
    );
  }
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
  const start = (): void => {
    setFailed(false);
    load().then(setLoaded, () => setFailed(true));
  };
  useEffect(start, []);
  const field = { className: "palette-input", placeholder: w.search, value: search };
  return (
    <dialog
      ref={openModal}
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
