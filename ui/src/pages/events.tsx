export function EventsPage(_: { opened: unknown; sequence: number | undefined }) { return <p>…</p>; }
