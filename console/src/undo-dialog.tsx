import { defineWords, useWords } from "./language.tsx";
import { Button } from "./parts/button.tsx";
import { openModal } from "./parts/dialog.tsx";
import { Sentence } from "./parts/localized.tsx";
import { useSettled } from "./parts/use-settled.ts";
import { VisibleText } from "./parts/visible-text.tsx";
import { type Question, setQuestion } from "./undo.ts";

const words = defineWords({
  title: ["Discard later changes?", "丢弃之后的修改？"],
  lead: [
    "Nothing was changed yet. These files were changed later, by a person or another program. If you go on, the later text is replaced.",
    "还没有改变任何内容。这些文件之后又被某人或其他程序修改过。如果继续，之后的内容会被替换。",
  ],
  now: ["What is there now", "现在的内容"],
  restored: ["What would be put back", "将恢复的内容"],
  later: ["What was changed later", "之后修改的内容"],
  noText: ["No file, not a text, or too long to show.", "没有文件、不是文本，或太长无法显示。"],
  keep: ["Keep the later changes", "保留之后的修改"],
  discard: ["Discard them", "丢弃它们"],
});

/** Asks before a later change is discarded. */
export default function UndoDialog({ conflicts, decide }: Question) {
  const w = useWords(words);
  const isSettled = useSettled(conflicts.map(({ path }) => path).join("\n"));
  const end = (discards: boolean): void => {
    if (discards && !isSettled) return;
    decide(discards);
    setQuestion(undefined);
  };
  return (
    <dialog
      ref={openModal}
      className="dialog wide-dialog"
      aria-labelledby="undo-dialog-title"
      onClose={() => end(false)}
      // Not the key that undoes: pressed twice, that one changes nothing more.
      onKeyDown={({ key }) => key === "D" && end(true)}
    >
      <h2 id="undo-dialog-title">{w.title}</h2>
      <p>{w.lead}</p>
      <div className="undo-conflicts" tabIndex={0} role="region" aria-label={w.title}>
        {conflicts.map(({ path, why, diff, now, restored }) => (
          <section key={path} className="stack" aria-label={path}>
            <p>
              <VisibleText as="strong" className="mono" text={path} /> <Sentence text={why} />
            </p>
            {now === undefined && restored === undefined ? (
              <Text title={w.later} text={diff === "" ? undefined : diff} />
            ) : (
              <div className="undo-texts">
                <Text title={w.now} text={now} />
                <Text title={w.restored} text={restored} />
              </div>
            )}
          </section>
        ))}
      </div>
      <div className="row end">
        <Button look="danger" hotkey="⇧D" text={w.discard} disabled={!isSettled} onClick={() => end(true)} />
        <Button look="primary" hotkey="Esc" text={w.keep} autoFocus onClick={() => end(false)} />
      </div>
    </dialog>
  );
}

function Text({ title, text }: { title: string; text: string | undefined }) {
  const w = useWords(words);
  return (
    <div className="stack">
      <h3>{title}</h3>
      {text === undefined ? <p className="muted">{w.noText}</p> : <VisibleText as="pre" className="code" text={text} />}
    </div>
  );
}
