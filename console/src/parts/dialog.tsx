import { X } from "lucide-react";
import { defineWords, useWords } from "../language.tsx";
import { Button } from "./button.tsx";

const words = defineWords({ close: ["Close", "关闭"] });

/** The `ref` of a modal dialog that is open as long as it is there. */
export function openModal(dialog: HTMLDialogElement | null): void {
  if (dialog && !dialog.open) dialog.showModal();
}

/** The title of a dialog, and the way out. */
export function DialogHead({ title }: { title: string }) {
  const w = useWords(words);
  return (
    <header className="row">
      <h2 className="grow">{title}</h2>
      <Button
        look="plain small"
        icon={X}
        aria-label={w.close}
        onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}
      />
    </header>
  );
}
