import { X } from "lucide-react";
import { Suspense, use, useEffect, useRef, useState } from "react";
import { defineWords, useWords } from "./language.tsx";
import { loadWithRetry } from "./lazy-page.tsx";
import type { Page } from "./page.ts";
import { describedKeys, useKeys } from "./parts/use-keys.ts";

const words = defineWords({
  en: {
    title: "Keyboard shortcuts",
    close: "Close",
    help: "Show the shortcuts of this page",
    palette: "Go to a page, tool, session or call",
    names: { " ": "Space" } as Readonly<Record<string, string>>,
  },
  zh: {
    title: "键盘快捷键",
    close: "关闭",
    help: "显示此页面的快捷键",
    palette: "前往页面、工具、会话或调用",
    names: { " ": "空格" } as Readonly<Record<string, string>>,
  },
});

const PALETTE_KEYS = "Ctrl K";
let loading: ReturnType<typeof load> | undefined;

function load() {
  return loadWithRetry(() => import("./palette.tsx")).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
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
    const show = (): void => {
      // The palette is not shown if its code cannot be loaded; the next press tries again.
      loading ??= load();
      loading.then(
        () => setShown("palette"),
        () => undefined,
      );
    };
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
  if (shown !== "palette" || !loading) return null;
  return (
    <Suspense>
      <Loaded
        loading={loading}
        pages={pages}
        hasSessions={hasSessions}
        onClose={close}
        onShowKeys={() => setShown("keys")}
      />
    </Suspense>
  );
}

function Loaded({
  loading: module,
  ...props
}: { loading: ReturnType<typeof load> } & Parameters<Awaited<ReturnType<typeof load>>["default"]>[0]) {
  const { default: Palette } = use(module);
  return <Palette {...props} />;
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
        <button className="button plain small" aria-label={w.close} onClick={() => dialog.current?.close()}>
          <X size={16} aria-hidden />
        </button>
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
