import { type RefObject, useLayoutEffect, useRef } from "react";

/** A shortcut with what it does, for the help that `?` opens. */
export interface KeyAction {
  label: string;
  run: () => void;
}

/** By the value of `KeyboardEvent.key`. An action without a label works, but is not in the help. */
export type Keys = Readonly<Record<string, KeyAction | (() => void)>>;

const registered = new Set<RefObject<Keys>>();

/** Keyboard shortcuts of a page. They are off while the user types or a dialog is open. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  // What is shown has its keys at once: an effect after the paint may come after a quick key.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!action) return;
      event.preventDefault();
      if (typeof action === "function") action();
      else action.run();
    };
    registered.add(latest);
    addEventListener("keydown", onKey);
    return () => {
      registered.delete(latest);
      removeEventListener("keydown", onKey);
    };
  }, []);
}

/** The shortcuts that work now and have a label. */
export function describedKeys(): readonly { key: string; label: string }[] {
  return [...registered].flatMap(({ current }) =>
    Object.entries(current).flatMap(([key, action]) =>
      typeof action === "function" ? [] : [{ key, label: action.label }],
    ),
  );
}

/** `/` goes to the search box. */
export function useSearchKey(label?: string): RefObject<HTMLInputElement | null> {
  const box = useRef<HTMLInputElement>(null);
  const focus = (): void => box.current?.focus();
  useKeys({ "/": label === undefined ? focus : { label, run: focus } });
  return box;
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !/^(?:checkbox|radio|button|submit)$/.test(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName));
}
