/** Keys of the whole page. In a box for text only Escape counts. */
import { signal } from "@preact/signals";
import { go, route } from "./route.js";

export const isHelpOpen = signal(false);

export const KEYS: [keys: string, meaning: string][] = [
  ["j, k", "Next, previous request or session"],
  ["a", "Allow once"],
  ["A", "Always allow, once the request has the focus"],
  ["r", "Reject, or dismiss a question"],
  ["w", "Reject with words"],
  ["1 … 9", "Choose an option of the question"],
  ["Enter", "Open the session; answer the question"],
  ["/", "Search"],
  ["n", "New session"],
  ["h", "All sessions"],
  ["[, ]", "Previous, next turn"],
  ["m", "Write a message"],
  ["Enter, Ctrl+Enter", "In the message: send or queue, steer"],
  ["Escape", "Leave a box, close a menu"],
  ["?", "This list"],
];

/** What j and k walk through. */
const STOPS = ".request, .session-row";

export function beginKeys(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const isText = target.matches("textarea, select, [contenteditable], input:not([type=radio]):not([type=checkbox])");
    if (event.key === "Escape") return escape(target, isText);
    // A key that is held down walks, and does nothing else.
    if (event.repeat && !/^[jk]$/.test(event.key)) return;
    if (!isText && press(event.key, target)) event.preventDefault();
  });
}

function escape(target: HTMLElement, isText: boolean): void {
  isHelpOpen.value = false;
  if (isText) target.blur();
}

function press(key: string, target: HTMLElement): boolean {
  switch (key) {
    case "?":
      isHelpOpen.value = !isHelpOpen.value;
      return true;
    case "j":
    case "k":
      return walk(target, key === "j" ? 1 : -1);
    case "n":
      return go({ page: "new" }), true;
    case "h":
      return go({ page: "home" }), true;
    case "/":
      return focus("[data-search]");
    case "m":
      return focus(".composer textarea");
    case "[":
    case "]":
      return click(`[data-step="${key === "[" ? "-1" : "1"}"]`, document.body);
    case "Enter":
      return target.matches(".request") && click("button[type=submit]:not(:disabled)", target);
    default:
      return answer(key, target);
  }
}

/**
 * Answers the request that has the focus, or the only one if it is seen; otherwise the first gets the focus. What is
 * allowed for the rest of a session needs the focus.
 */
function answer(key: string, target: HTMLElement): boolean {
  if (!/^[aArw1-9]$/.test(key)) return false;
  const focused = target.closest<HTMLElement>(".request");
  const all = document.querySelectorAll<HTMLElement>(".request");
  const request = focused ?? all[0];
  if (request === undefined) return false;
  const isMeant = focused !== null || (key !== "A" && all.length === 1 && isSeen(request));
  if (!request.contains(document.activeElement)) request.focus();
  if (!isMeant) return true;
  return /\d/.test(key) ? choose(key, request) : click(`[data-key="${key}"]:not(:disabled)`, request);
}

/** Chooses an option of the question that has the focus, else of the first one without a choice. */
function choose(key: string, request: HTMLElement): boolean {
  const questions = [...request.querySelectorAll<HTMLElement>("fieldset")];
  const focused = questions.find((question) => question.contains(document.activeElement));
  const question = focused ?? questions.find((one) => one.querySelector(":checked") === null) ?? questions[0];
  const option = question?.querySelector<HTMLInputElement>(`[data-key="${key}"]`);
  option?.click();
  // Of several choices more may follow.
  if (option?.type === "checkbox") option.focus();
  return option != null;
}

function isSeen(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

function walk(target: HTMLElement, step: number): boolean {
  const stops = [...document.querySelectorAll<HTMLElement>(STOPS)];
  const at = stops.findIndex((stop) => stop.contains(target));
  const next = stops[at < 0 ? (step > 0 ? 0 : stops.length - 1) : at + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}

function click(selector: string, inside: HTMLElement): boolean {
  const found = inside.querySelector<HTMLElement>(selector);
  found?.click();
  return found !== null;
}

function focus(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null && route.value.page !== "home") return false;
  found?.focus();
  return found !== null;
}
