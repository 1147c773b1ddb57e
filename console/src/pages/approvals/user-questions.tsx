import { Check, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import type {
  ApprovalAnswerRequest,
  ApprovalInfo,
  UserAnswer,
  UserQuestion,
} from "../../../../src/contracts/approvals.ts";
import {
  fieldsText,
  type FieldValues,
  fieldValues,
  isWider,
  problemOfField,
  readFields,
  type QuestionField as EditableField,
} from "../../../../src/core/questions/question-fields.ts";
import { defineWords, type Pair, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { useSettled } from "../../parts/use-settled.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { useScope } from "../../api.ts";
import { Delivery } from "./answer-lines.tsx";
import type { AnswerLine } from "./use-answers.ts";

const words = defineWords({
  several: ["Choose one or more", "可选择一项或多项"],
  own: ["Your own answer", "自己填写"],
  add: ["Add something (optional)", "补充说明（可选）"],
  send: ["Send the answer", "发送回答"],
  dismiss: ["Dismiss", "不回答"],
  dismissed: ["The model then decides itself.", "之后由模型自行决定。"],
  keyOption: ["Choose an option of the first open question", "选择第一个未回答问题的选项"],
  keySend: ["Send the answer (Ctrl+Enter in a field)", "发送回答（在输入框中按 Ctrl+Enter）"],
  asked: ["", "代理请求："],
  bounds: {
    minutes: (value: string) => ["", `为期 ${value} 分钟`],
    calls: (value: string) => ["", `最多 ${value} 次调用`],
    budget: (value: string) => ["", `总预算 ${value}`],
    allow: (value: string) => ["", `允许 ${value}`],
  } as Record<string, (value: string) => Pair>,
  purpose: ["", "代理说明的用途："],
  original: ["", "英文原文"],
  noAnswer: ["not answered", "未回答"],
  wider: ["more than asked", "超出所请求"],
  noLimit: ["no limit", "不限"],
  fields: {
    minutes: ["Minutes", "分钟"],
    calls: ["Calls at most", "最多调用次数"],
    budget: ["Budget in all", "总预算"],
    allow: ["What it may do, one rule a line", "允许的操作，每行一条规则"],
  } as Record<string, Pair>,
  /** Of a question with fields, which Haft asks itself. */
  labels: { Permission: ["Permission", "请求许可"], Yes: ["Yes", "允许"], No: ["No", "不允许，每次仍询问"] } as Record<
    string,
    Pair
  >,
  answers: ["Answers", "回答"],
  noScope: [
    "You can view but not answer: your sign-in lacks the scope approve.",
    "你可以查看，但不能回答：当前登录没有 approve 权限。",
  ],
});

/** What was asked and answered, for a question that is closed. */
export function AnsweredQuestions({
  questions,
  answers,
}: Required<Pick<ApprovalInfo, "questions">> & Pick<ApprovalInfo, "answers">) {
  const w = useWords(words);
  return (
    <dl className="stack user-answers">
      {questions.map(({ question }, at) => {
        const { choices = [], text = "" } = answers?.[at] ?? {};
        const isEmpty = choices.length === 0 && text === "";
        return (
          <div key={at}>
            <VisibleText as="dt" text={question} />
            <dd>
              {isEmpty ? <span className="muted">{w.noAnswer}</span> : null}
              {choices.map((choice) => (
                <VisibleText key={choice} className="badge ok" text={choice} />
              ))}{" "}
              <VisibleText text={text} />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

interface UserQuestionsProps {
  id: string;
  questions: readonly UserQuestion[];
  line: AnswerLine | undefined;
  onAnswer: (request: ApprovalAnswerRequest) => void;
  /** Below the questions. */
  children: ReactNode;
}

/** The questions of ask_user as a form. */
export function UserQuestions({ id, questions, line, onAnswer, children }: UserQuestionsProps) {
  const w = useWords(words);
  const [answers, setAnswers] = useState<readonly UserAnswer[]>(() => questions.map(() => ({})));
  const mayAnswer = useScope("approve");
  // A key or a click that was meant for the card shown before is ignored.
  const isSettled = useSettled(id) && mayAnswer && line?.state !== "sending";
  const isComplete = answers.every(isGiven) && questions.every((asked, at) => isValid(asked, answers[at] ?? {}));

  const change = (at: number, answer: UserAnswer): void =>
    setAnswers((now) => now.map((each, index) => (index === at ? answer : each)));
  const choose = (at: number, label: string): void => {
    const { options = [], multiple = false } = questions[at] ?? {};
    const before = answers[at] ?? {};
    if (!multiple && before.choices?.includes(label)) return;
    // What was edited belongs to the option that was chosen.
    const { text } = options.some(({ fields }) => fields) ? {} : before;
    change(at, chosen({ ...before, text }, label, multiple));
  };
  const send = (): void => {
    if (isSettled && isComplete) onAnswer({ decision: "answer", answers: answers.map(written) });
  };
  const dismiss = (): void => {
    if (isSettled) onAnswer({ decision: "deny" });
  };
  const chooseByKey = (option: number): void => {
    const open = answers.findIndex((answer) => !isGiven(answer));
    const at = open === -1 ? answers.length - 1 : open;
    const label = questions[at]?.options?.[option]?.label;
    if (isSettled && label !== undefined) choose(at, label);
  };
  const most = Math.max(0, ...questions.map(({ options = [] }) => options.length));
  const digits = Array.from({ length: Math.min(9, most) }, (_, at) => [
    String(at + 1),
    at === 0 ? { label: w.keyOption, run: () => chooseByKey(at) } : () => chooseByKey(at),
  ]);
  useKeys({
    ...Object.fromEntries(digits),
    y: { label: w.keySend, run: send },
    n: { label: w.dismiss, run: dismiss },
  });

  if (!mayAnswer) {
    return (
      <>
        <div className="stack card-body">
          <AnsweredQuestions questions={[...questions]} answers={undefined} />
          {children}
        </div>
        <p className="stack answer-bar notice warn">{w.noScope}</p>
      </>
    );
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    // Arrow keys move between the options, not between the cards.
    if (event.key.startsWith("Arrow")) event.stopPropagation();
  };
  return (
    <form
      className="user-questions"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={onKeyDown}
    >
      <div className="stack card-body">
        {questions.map((asked, at) => (
          <QuestionField
            key={at}
            name={`${id}-${at}`}
            asked={asked}
            answer={answers[at] ?? {}}
            hasKeys={at === 0 || questions.length === 1}
            onChoose={(label) => choose(at, label)}
            onWrite={(text) => change(at, { ...answers[at], text })}
          />
        ))}
        {children}
      </div>
      <div className="stack answer-bar" role="group" aria-label={w.answers}>
        <Delivery line={line} onRetry={onAnswer} />
        <div className="row answers">
          <Button look="primary" icon={Check} hotkey="y" type="submit" disabled={!isSettled || !isComplete}>
            {w.send}
          </Button>
          <Button icon={X} text={w.dismiss} hotkey="n" disabled={!isSettled} title={w.dismissed} onClick={dismiss} />
          <span className="small muted">{w.dismissed}</span>
        </div>
      </div>
    </form>
  );
}

function QuestionField(props: {
  name: string;
  asked: UserQuestion;
  answer: UserAnswer;
  hasKeys: boolean;
  onChoose: (label: string) => void;
  onWrite: (text: string) => void;
}) {
  const w = useWords(words);
  const { asked, answer, name } = props;
  const { options = [], multiple = false, header, question, free_text: isFree = true } = asked;
  const { fields = [] } = options.find(({ label }) => answer.choices?.includes(label)) ?? {};
  const bounds = options
    .flatMap((option) => option.fields ?? [])
    .map(({ name: field, value, unit = "" }) => {
      const shown = value === "" ? "" : `${value.replaceAll("\n", "、")}${unit}`;
      return shown === "" ? `${w.fields[field]}${w.noLimit}` : (w.bounds[field]?.(shown) ?? shown);
    });
  const hasFields = bounds.length > 0;
  const { language } = useLanguage();
  const isTranslated = hasFields && language === "zh";
  const purpose = /\nThe agent says what for: (.*)$/s.exec(question)?.[1];
  const shown = (text: string): string => (hasFields ? (w.labels[text] ?? text) : text);
  return (
    <fieldset className="stack user-question">
      <legend>
        {header ? <VisibleText className="badge" text={shown(header)} /> : null}{" "}
        {isTranslated ? <VisibleText as="p" text={`${w.asked}${bounds.join("；")}。`} /> : null}
        {isTranslated && purpose !== undefined ? <VisibleText as="p" text={`${w.purpose}${purpose}`} /> : null}
        {isTranslated ? null : <VisibleText text={question} />}
        {multiple && options.length > 0 ? <span className="small muted"> · {w.several}</span> : null}
      </legend>
      {isTranslated ? (
        <details className="small muted">
          <summary>{w.original}</summary>
          <VisibleText as="p" lang="en" text={question} />
        </details>
      ) : null}
      {options.map(({ label, description }, at) => (
        <label key={label} className="user-option">
          <input
            type={multiple ? "checkbox" : "radio"}
            name={name}
            checked={answer.choices?.includes(label) ?? false}
            onChange={() => props.onChoose(label)}
          />
          <span className="grow">
            <VisibleText as="strong" text={shown(label)} />
            {description && !isTranslated ? (
              <VisibleText className="user-option-note muted" text={description} />
            ) : null}
          </span>
          {props.hasKeys && at < 9 ? <kbd className="key">{at + 1}</kbd> : null}
        </label>
      ))}
      {fields.length > 0 ? <Fields fields={fields} onWrite={props.onWrite} /> : null}
      {!hasFields && (isFree || options.length === 0) ? (
        <textarea
          className="textarea"
          rows={options.length === 0 ? 3 : 1}
          maxLength={4000}
          aria-label={`${question} · ${w.own}`}
          placeholder={(answer.choices?.length ?? 0) > 0 ? w.add : w.own}
          value={answer.text ?? ""}
          onChange={({ target }) => props.onWrite(target.value)}
        />
      ) : null}
    </fieldset>
  );
}

/** What the chosen option lets the person change. What is more than was asked for says so. */
function Fields({ fields, onWrite }: { fields: readonly EditableField[]; onWrite: (text: string) => void }) {
  const w = useWords(words);
  const [values, setValues] = useState<FieldValues>(() => fieldValues(fields));
  const change = (name: string, value: string): void => {
    const next = { ...values, [name]: value };
    setValues(next);
    onWrite(fieldsText(fields, next));
  };
  return (
    <div className="question-fields">
      {fields.map((field) => {
        const { name, kind, unit, value: asked } = field;
        const value = values[name] ?? "";
        const label = w.fields[name] ?? name;
        const shared = {
          value,
          "aria-invalid": problemOfField(field, value),
          onChange: ({ target }: { target: { value: string } }) => change(name, target.value),
        };
        return (
          <label key={name} className={kind === "lines" ? "question-field wide" : "question-field"}>
            <span>
              {label}
              {unit === undefined ? null : <VisibleText text={` (${unit})`} />}{" "}
              {isWider(field, value) ? <span className="badge warn">{w.wider}</span> : null}
            </span>
            {kind === "lines" ? (
              <textarea className="textarea mono" rows={asked.split("\n").length} spellCheck={false} {...shared} />
            ) : (
              <input
                className="input"
                inputMode="decimal"
                placeholder={w.noLimit}
                required={asked !== ""}
                {...shared}
              />
            )}
          </label>
        );
      })}
    </div>
  );
}

/** Whether the text of the fields is what they can have. */
function isValid({ options = [] }: UserQuestion, { choices = [], text = "" }: UserAnswer): boolean {
  const { fields } = options.find(({ label }) => choices.includes(label)) ?? {};
  return !fields || readFields(fields, text) !== undefined;
}

function isGiven({ choices = [], text = "" }: UserAnswer): boolean {
  return choices.length > 0 || text.trim() !== "";
}

function written({ choices = [], text = "" }: UserAnswer): UserAnswer {
  return { choices: choices.length > 0 ? choices : undefined, text: text.trim() === "" ? undefined : text.trim() };
}

/** The answer after a click on an option: of several any number, otherwise one. */
function chosen({ choices = [], text }: UserAnswer, label: string, isMultiple: boolean): UserAnswer {
  if (!isMultiple) return { choices: [label], text };
  const isChosen = choices.includes(label);
  return { choices: isChosen ? choices.filter((each) => each !== label) : [...choices, label], text };
}
