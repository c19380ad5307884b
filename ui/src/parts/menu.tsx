/** A button that opens a menu; arrow keys walk through it, Escape closes it. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  name: string;
  act: () => unknown;
  isDangerous?: boolean;
  isDisabled?: boolean;
}

export function Menu({ label, name, items }: { label: string; name: string; items: MenuItem[] }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const entries = () => [...(box.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]:not([disabled])") ?? [])];
  useEffect(() => {
    if (!isOpen) return;
    entries()[0]?.focus();
    const leave = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && isOpen) close();
    else if (step !== undefined && isOpen) all[(at + step + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={box} onKeyDown={onKey}>
      <button type="button" ref={button} class="quiet" aria-haspopup="menu" aria-expanded={isOpen} aria-label={label === name ? undefined : label} onClick={() => setOpen(!isOpen)}>{name}</button>
      {isOpen && (
        <div class="menu-list" role="menu" aria-label={label}>
          {items.map((item) => (
            <button
              type="button" role="menuitem" key={item.name} disabled={item.isDisabled} class={item.isDangerous ? "danger" : ""}
              onClick={() => (close(), item.act())}
            >{item.name}</button>
          ))}
        </div>
      )}
    </div>
  );
}
