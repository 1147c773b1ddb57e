import type { LucideIcon } from "lucide-react";
import { type AnchorHTMLAttributes, type ButtonHTMLAttributes, type ReactNode, type RefObject, useState } from "react";
import { Link } from "wouter";

interface Look {
  /** `primary`, `danger`, `critical`, `plain`, `small`, and classes of the page. */
  look?: string;
  icon?: LucideIcon;
  /** What it says, if it fits on a line; otherwise its children. */
  text?: ReactNode;
  /** The key that does the same. */
  hotkey?: string;
  /** The name of a button that has only an icon. */
  label?: string;
}

type ButtonProps = Look &
  (
    | (ButtonHTMLAttributes<HTMLButtonElement> & { href?: undefined; ref?: RefObject<HTMLButtonElement | null> })
    | (AnchorHTMLAttributes<HTMLAnchorElement> & { href: string })
  );

/** A button, or a link to a page that looks like one. It submits a form only if its type says so. */
export function Button({ look = "", icon: Icon, text, hotkey, label, children, ...props }: ButtonProps) {
  const named = { className: `button ${look}`, ...(label === undefined ? {} : { title: label, "aria-label": label }) };
  const said = text ?? children;
  const content = (
    <>
      {Icon ? <Icon size={said === undefined ? 16 : /\bsmall\b/.test(look) ? 14 : 15} aria-hidden /> : null}
      {said}
      {hotkey === undefined ? null : (
        <>
          {" "}
          <kbd className="key">{hotkey}</kbd>
        </>
      )}
    </>
  );
  if (props.href !== undefined) {
    return (
      <Link {...named} {...props}>
        {content}
      </Link>
    );
  }
  return (
    <button type="button" {...named} {...props}>
      {content}
    </button>
  );
}

/** A button for what cannot be taken back: it asks once more before it acts. */
export function SureButton(props: Omit<Look, "text"> & { text: string; sure: string; onSure: () => void }) {
  const { text, sure, onSure, ...look } = props;
  const [isSure, setSure] = useState(false);
  const press = (): void => (isSure ? onSure() : setSure(true));
  return <Button {...look} text={isSure ? sure : text} onBlur={() => setSure(false)} onClick={press} />;
}
