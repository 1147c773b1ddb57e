import { Coins, FileText, Globe, type LucideIcon, SquareTerminal, TextQuote } from "lucide-react";
import type { CallSubject as Subject } from "../../../src/contracts/basics.ts";
import { defineWords, useWords } from "../language.tsx";
import "./call-subject.css";
import { OneLine } from "./visible-text.tsx";

const words = defineWords({
  command: ["Command", "命令"],
  path: ["Path", "路径"],
  url: ["Address", "地址"],
  amount: ["Amount", "金额"],
  text: ["Text", "文本"],
  none: ["no input", "无输入"],
});

const ICONS: Readonly<Record<Subject["type"], LucideIcon>> = {
  command: SquareTerminal,
  path: FileText,
  url: Globe,
  amount: Coins,
  text: TextQuote,
};

/** An input without a subject of its own is JSON: its fields as `name: value`. */
function plain(text: string): string {
  if (!text.startsWith("{")) return text;
  try {
    const fields = Object.entries(JSON.parse(text) as object);
    return fields
      .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join(" · ");
  } catch {
    // It was cut.
    return text;
  }
}

/** What a call is about, on one line. The tooltip has the whole subject. */
export function CallSubject({ subject }: { subject: Subject }) {
  const w = useWords(words);
  const Icon = ICONS[subject.type];
  return (
    <span className="inline call-subject" title={subject.text}>
      <Icon size={14} role="img" aria-label={w[subject.type]} />
      <span className="cut call-subject-text">
        {subject.text === "" ? (
          <span className="muted">{w.none}</span>
        ) : (
          <OneLine text={subject.type === "text" ? plain(subject.text) : subject.text} />
        )}
      </span>
    </span>
  );
}
