import { defineWords, type Pair, useWords } from "./language.tsx";
import { DialogHead, openModal } from "./parts/dialog.tsx";
import { describedKeys } from "./parts/use-keys.ts";

const words = defineWords({
  title: ["Keyboard shortcuts", "键盘快捷键"],
  palette: ["Go to a page, tool, session or call", "前往页面、工具、会话或调用"],
  names: { " ": ["Space", "空格"] } as Readonly<Record<string, Pair>>,
});

const PALETTE_KEYS = "Ctrl K";

export default function KeyHelp({ onClose }: { onClose: () => void }) {
  const w = useWords(words);
  const keys = [{ key: PALETTE_KEYS, label: w.palette }, ...describedKeys()];
  const unique = [...new Map(keys.map((one) => [one.key, one])).values()];
  return (
    <dialog ref={openModal} className="dialog key-help" aria-label={w.title} onClose={onClose}>
      <DialogHead title={w.title} />
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
