/** Light, dark, or as the system has it; and the icon of the tab, which tells how many requests wait. */
import { signal } from "@preact/signals";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "omniglot.theme";

export const theme = signal<Theme>(THEMES.find((known) => known === localStorage.getItem(KEY)) ?? "system");

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, theme.value);
  applyTheme();
}

let icon: HTMLLinkElement | undefined;
let drawn = "";
/** Both icons by their colour. They stay: a browser may read one after the next was set. */
const icons = new Map<string, string>();

/** Tells in title and icon of the tab how many requests wait for a person. */
export function tellTab(title: string, waiting: number): void {
  document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title}`;
  const mark = waiting > 0 ? "#d97706" : "#4f6bed";
  if (mark === drawn) return;
  drawn = mark;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${mark}"/><circle cx="8" cy="8" r="4" fill="none" stroke="#fff" stroke-width="2"/></svg>`;
  icon ??= document.head.appendChild(Object.assign(document.createElement("link"), { rel: "icon" }));
  if (!icons.has(mark)) icons.set(mark, URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })));
  icon.href = icons.get(mark) ?? "";
}
