export function AgentsPage() { return <p>…</p>; }
