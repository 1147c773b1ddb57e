import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { defineWords, type Pair, useWords } from "./language.tsx";
import { Button } from "./parts/button.tsx";
import { describedKeys } from "./parts/use-keys.ts";

const words = defineWords({
  title: ["Keyboard shortcuts", "键盘快捷键"],
  close: ["Close", "关闭"],
  palette: ["Go to a page, tool, session or call", "前往页面、工具、会话或调用"],
  names: { " ": ["Space", "空格"] } as Readonly<Record<string, Pair>>,
});

const PALETTE_KEYS = "Ctrl K";

export default function KeyHelp({ onClose }: { onClose: () => void }) {
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
