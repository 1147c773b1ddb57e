import { TriangleAlert } from "lucide-react";
import { ApiError } from "../api.ts";
import { ERROR_TEXTS_ZH } from "../error-texts.ts";
import { defineWords, useLanguage, useWords } from "../language.tsx";
import { Button } from "./button.tsx";
import { VisibleText } from "./visible-text.tsx";

const words = defineWords({
  again: ["Try again", "重试"],
  unreachable: [
    "The server does not answer. Is it still running? Start it with: haft serve",
    "服务器没有响应。它还在运行吗？请用 haft serve 重新启动。",
  ],
});

/** Advice that names an endpoint. */
const FOR_PROGRAMS = /\b(?:GET|POST|PUT|PATCH|DELETE) \//;

/** What went wrong and what to do next. */
export function Failure({ error, again }: { error: Error; again?: () => void }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const known = error instanceof ApiError ? error : undefined;
  const isAway = known?.code === "unreachable";
  const translated = known && language === "zh" ? ERROR_TEXTS_ZH[known.code] : undefined;
  const title = isAway ? w.unreachable : (translated ?? error.message);
  const details = isAway
    ? []
    : [translated === undefined ? "" : error.message, FOR_PROGRAMS.test(known?.next ?? "") ? "" : (known?.next ?? "")];
  return (
    <div className="notice bad" role="alert">
      <TriangleAlert size={18} aria-hidden />
      <div className="grow">
        <VisibleText as="p" text={title} />
        {details.filter(Boolean).map((detail) => (
          <VisibleText
            key={detail}
            as="p"
            className="small"
            lang={language === "en" ? undefined : "en"}
            text={detail}
          />
        ))}
      </div>
      {again ? <Button look="small" text={w.again} onClick={again} /> : null}
    </div>
  );
}
