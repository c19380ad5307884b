/** Small drawings; each stands beside words that say the same. */
const PATHS: Record<string, string> = {
  read: "M3 2.5h6l4 4v7H3zM9 2.5v4h4M5.5 9h5M5.5 11h5",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7l2.3 2.3",
  delete: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
  move: "M2.5 8h10M9 4.5L12.5 8 9 11.5",
  search: "M7 3a4 4 0 100 8 4 4 0 000-8zM10 10l3.5 3.5",
  execute: "M2 3h12v10H2zM4.5 6l2 2-2 2M8 10.5h3.5",
  fetch: "M8 2a6 6 0 100 12A6 6 0 008 2zM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2z",
  think: "M6 13h4M6.5 11V9.5C5 8.8 4.2 7.6 4.2 6a3.8 3.8 0 017.6 0c0 1.6-.8 2.8-2.300 3.5V11z",
  plan: "M6 4h7.5M6 8h7.5M6 12h7.5M2.5 4h.5M2.5 8h.5M2.5 12h.5",
  agent: "M3 6h10v7H3zM8 6V3M6.5 2.5h3M5.5 9h1M9.5 9h1",
  mode: "M3 5h10M3 11h10M6 3v4M10 9v4",
  mcp: "M6 2v4M10 2v4M4 6h8v2.5a4 4 0 01-8 0zM8 12.5V15",
  other: "M9.5 2.5a3.5 3.5 0 00-3.300 4.700L2.5 11v2.5H5l3.8-3.700A3.5 3.5 0 1013 4l-2 2-1.5-1.5 2-2z",
  sun: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.400 3.400l1 1M11.6 11.6l1 1M3.400 12.6l1-1M11.6 4.400l1-1",
  attach: "M12.5 7.5L7.300 12.700a2.8 2.8 0 01-4-4L9 3a1.900 1.900 0 012.700 2.700L6.2 11.2a.9.9 0 01-1.300-1.300L9.8 5",
  keys: "M1.5 4h13v8h-13zM4 6.5h.5M7 6.5h.5M10 6.5h.5M4 9.5h8",
  out: "M6 2.5H3v11h3M7 8h6.5M11 5.5L13.5 8 11 10.5",
  panel: "M2 3h12v10H2zM10 3v10",
};

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name] ?? PATHS["other"]} />
    </svg>
  );
}
